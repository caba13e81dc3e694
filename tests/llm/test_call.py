"""Model calls over real HTTP."""

import asyncio
import gzip
from collections.abc import Callable
from typing import Any

import pytest

from marvin_agent.errors import (
    AuthenticationError,
    BadRequestError,
    NetworkError,
    OverloadedError,
    ProtocolError,
    ProviderError,
    RateLimitError,
    SilenceError,
)
from marvin_agent.llm.call import ModelCall
from marvin_agent.llm.http import HttpTransport
from marvin_agent.llm.remote import RemoteTransport
from marvin_agent.llm.transport import Transport
from marvin_agent.llm.values import Credentials, Finished, Request, Responded, StreamEvent, TextDelta
from model_server import Exchange, completions, serving, sse

KEY = Credentials(api_key="sk-test-0123456789abcdefghij")


Make = Callable[..., Transport]


def elsewhere(**options: Any) -> Transport:
    """The transport for other machines, which takes this one for one of them."""
    return RemoteTransport(
        **{"connect_timeout": 5.0, "idle_timeout": 5.0, "http2": False, "user_agent": "marvin", **options}
    )


@pytest.fixture(params=[HttpTransport, elsewhere], ids=["loopback", "remote"])
def make(request: pytest.FixtureRequest) -> Make:
    return request.param


async def run(make: Make, request: Request, credentials: Credentials = KEY, **options: object) -> list[StreamEvent]:
    transport = make(**options)
    try:
        return [event async for event in ModelCall(request, credentials, transport).events()]
    finally:
        await transport.close()


async def test_a_call_yields_the_head_then_deltas_then_the_message(make: Make):
    async def handler(exchange: Exchange) -> None:
        await exchange.begin(headers={"x-request-id": "req_1"})
        await exchange.write(
            completions({"content": "Hel"}, {"content": "lo"}, usage={"prompt_tokens": 7, "completion_tokens": 2})
        )

    async with serving(handler) as server:
        head, *deltas, finished = await run(make, server.request())
    assert isinstance(head, Responded)
    assert (head.status, head.request_id) == (200, "req_1")
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "Hello"
    assert isinstance(finished, Finished)
    assert finished.message.text == "Hello"
    assert finished.message.stop_reason == "stop"
    assert finished.message.request_id == "req_1"
    assert finished.message.usage is not None
    assert finished.message.usage.total_tokens == 9
    sent = server.exchanges[0]
    assert sent.path == "/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY.api_key}"


async def test_text_arrives_while_the_server_is_still_writing(make: Make):
    go_on = asyncio.Event()

    async def handler(exchange: Exchange) -> None:
        await exchange.begin_chunked()
        await exchange.chunk(sse([{"choices": [{"delta": {"content": "first"}}]}]))
        await go_on.wait()
        await exchange.chunk(completions({"content": " last"}))
        await exchange.chunk(b"")

    async with serving(handler) as server:
        transport = make()
        texts = []
        async for event in ModelCall(server.request(), KEY, transport).events():
            if isinstance(event, TextDelta):
                texts.append(event.text)
                go_on.set()
        await transport.close()
    assert texts == ["first", " last"]


async def test_the_head_is_told_before_the_body_begins(make: Make):
    go_on = asyncio.Event()

    async def handler(exchange: Exchange) -> None:
        await exchange.begin_chunked()
        await go_on.wait()
        await exchange.chunk(completions({"content": "x"}))
        await exchange.chunk(b"")

    async with serving(handler) as server:
        transport = make()
        events = ModelCall(server.request(), KEY, transport).events()
        assert isinstance(await anext(events), Responded)
        go_on.set()
        assert isinstance([event async for event in events][-1], Finished)
        await transport.close()


@pytest.mark.parametrize("size", [1, 2, 7, 100])
async def test_an_answer_cut_anywhere_is_the_same_answer(make: Make, size: int):
    whole = completions({"content": "añ😀b"}, {"reasoning_content": "hm"}).replace(b"\n", b"\r\n")

    async def handler(exchange: Exchange) -> None:
        await exchange.begin_chunked()
        for at in range(0, len(whole), size):
            await exchange.chunk(whole[at : at + size])
        await exchange.chunk(b"")

    async with serving(handler) as server:
        events = await run(make, server.request())
    assert isinstance(events[-1], Finished)
    assert events[-1].message.text == "añ😀b"


async def test_a_stream_that_breaks_is_a_network_error(make: Make):
    async def handler(exchange: Exchange) -> None:
        await exchange.begin_chunked()
        await exchange.chunk(sse([{"choices": [{"delta": {"content": "par"}}]}]))

    async with serving(handler) as server:
        transport = make()
        call = ModelCall(server.request(), KEY, transport)
        with pytest.raises(NetworkError, match=r"127\.0\.0\.1"):
            async for _ in call.events():
                pass
        await transport.close()
    partial = call.partial("error", "broke")
    assert (partial.text, partial.stop_reason, partial.error_message) == ("par", "error", "broke")


async def test_a_stream_that_ends_without_an_end_is_a_protocol_error(make: Make):
    async def handler(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.write(sse([{"choices": [{"delta": {"content": "par"}}]}]))

    async with serving(handler) as server:
        with pytest.raises(ProtocolError, match="without an end"):
            await run(make, server.request())


LAST = completions({"content": "whole"}, usage={"prompt_tokens": 7, "completion_tokens": 2})


@pytest.mark.parametrize("cut", [LAST.index(b"data: [DONE]"), len(LAST)], ids=["after the finish", "after [DONE]"])
async def test_how_the_connection_ends_does_not_matter_once_the_message_is_whole(make: Make, cut: int):
    async def handler(exchange: Exchange) -> None:
        await exchange.begin_chunked()
        await exchange.chunk(LAST[:cut])  # and no last chunk: for HTTP this is a broken answer

    async with serving(handler) as server:
        finished = (await run(make, server.request()))[-1]
    assert isinstance(finished, Finished)
    assert finished.message.text == "whole"


async def test_nobody_waits_for_a_server_that_does_not_hang_up_after_the_end(make: Make):
    async def handler(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.write(LAST)
        await exchange.dropped()

    async with serving(handler) as server:
        # The time limit of a test is shorter than this silence.
        finished = (await run(make, server.request(), idle_timeout=600.0))[-1]
    assert isinstance(finished, Finished)
    assert finished.message.text == "whole"


async def test_silence_after_the_finish_is_no_failure(make: Make):
    async def handler(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.write(LAST[: LAST.index(b"data: [DONE]")])
        await exchange.dropped()

    async with serving(handler) as server:
        finished = (await run(make, server.request(), idle_timeout=0.2))[-1]
    assert isinstance(finished, Finished)


async def test_what_is_packed_unasked_is_unpacked(make: Make):
    async def handler(exchange: Exchange) -> None:
        await exchange.begin(headers={"content-encoding": "gzip"})
        packed = gzip.compress(LAST)
        await exchange.write(packed[:20])
        await exchange.write(packed[20:])

    async with serving(handler) as server:
        finished = (await run(make, server.request()))[-1]
    assert isinstance(finished, Finished)
    assert finished.message.text == "whole"


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b'{"error": {"message": "the engine is overloaded"}}\n', OverloadedError, "the engine is overloaded"),
        (b"<html><body><h1>Sign in</h1></body></html>", ProtocolError, "no event but: Sign in"),
        (b"upstream connect error", ProtocolError, "no event but: upstream connect error"),
        (b": processing\n\n", ProtocolError, "ended without an end"),
    ],
)
async def test_a_stream_without_an_event_says_what_came_instead(
    make: Make, body: bytes, kind: type[ProviderError], words: str
):
    async def handler(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.write(body)

    async with serving(handler) as server:
        with pytest.raises(kind, match=words):
            await run(make, server.request())


async def test_an_error_whose_explanation_breaks_off_is_still_that_error(make: Make):
    async def handler(exchange: Exchange) -> None:
        await exchange.begin(401, {"content-length": "1000"})
        await exchange.write(b"no such key")

    async with serving(handler) as server:
        with pytest.raises(AuthenticationError):
            await run(make, server.request())


async def test_silence_between_chunks_is_a_timeout(make: Make):
    async def handler(exchange: Exchange) -> None:
        await exchange.begin_chunked()
        await exchange.chunk(b": ping\n\n")
        await exchange.dropped()

    async with serving(handler) as server:
        with pytest.raises(SilenceError, match=r"sent nothing for 0\.2 seconds"):
            await run(make, server.request(), idle_timeout=0.2)


async def test_a_server_that_never_answers_is_a_timeout(make: Make):
    async with serving(Exchange.dropped) as server:
        with pytest.raises(SilenceError, match="did not answer"):
            await run(make, server.request(), idle_timeout=0.2)


async def test_a_refused_connection_names_the_host_and_not_the_key(make: Make):
    async with serving(Exchange.dropped) as server:
        request = server.request()
    with pytest.raises(NetworkError) as caught:
        await run(
            make, request, Credentials(api_key="sk-secret-0123456789", base_url=f"{server.url}/v1?key=hidden-value")
        )
    shown = caught.value.show()
    assert f"127.0.0.1:{server.port}" in shown
    assert "secret" not in shown
    assert "hidden-value" not in shown


async def test_a_redirect_is_an_error_and_is_not_followed(make: Make):
    async def handler(exchange: Exchange) -> None:
        await exchange.answer(307, b"", {"location": "/elsewhere"})

    async with serving(handler) as server:
        with pytest.raises(BadRequestError, match="redirect"):
            await run(make, server.request())
    assert len(server.exchanges) == 1


async def test_a_rate_limit_says_how_long_to_wait(make: Make):
    async def handler(exchange: Exchange) -> None:
        await exchange.answer(429, b'{"error":{"message":"slow down"}}', {"retry-after": "3"})

    async with serving(handler) as server:
        with pytest.raises(RateLimitError, match="slow down") as caught:
            await run(make, server.request())
    assert caught.value.retry_after == 3
    assert caught.value.provider == "test"


async def test_an_error_in_the_middle_of_a_stream_is_raised(make: Make):
    async def handler(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.write(sse([{"choices": [{"delta": {"content": "a"}}]}, {"error": {"message": "Overloaded"}}]))

    async with serving(handler) as server:
        with pytest.raises(OverloadedError, match="Overloaded"):
            await run(make, server.request())


async def test_a_key_that_the_server_quotes_is_masked(make: Make):
    async def handler(exchange: Exchange) -> None:
        key = exchange.headers["authorization"].split()[1]
        await exchange.answer(401, b'{"error":{"message":"Incorrect API key: %b"}}' % key.encode())

    async with serving(handler) as server:
        with pytest.raises(ProviderError) as caught:
            await run(make, server.request(), Credentials(api_key="my.own-key~format"))
    assert "my.own" not in caught.value.show()
    assert "my.own" not in str(caught.value)


async def test_secret_headers_that_the_server_quotes_are_masked(make: Make):
    async def handler(exchange: Exchange) -> None:
        said = f"refused {exchange.headers['x-gateway-token']} and {exchange.headers['x-title']}"
        await exchange.answer(401, b'{"error":{"message":"%b"}}' % said.encode())

    headers = {"X-Gateway-Token": "Secret gate~1234", "X-Title": "marvin-at-work"}
    async with serving(handler) as server:
        with pytest.raises(ProviderError) as caught:
            await run(make, server.request(), Credentials(headers=headers))
    assert "gate~1234" not in caught.value.show()
    assert "marvin-at-work" in caught.value.show()


async def test_cancelling_drops_the_connection_at_once(make: Make):
    dropped = asyncio.Event()

    async def handler(exchange: Exchange) -> None:
        await exchange.begin_chunked()
        await exchange.chunk(sse([{"choices": [{"delta": {"content": "a"}}]}]))
        await exchange.dropped()
        dropped.set()

    async with serving(handler) as server:
        transport = make()
        began = asyncio.Event()
        call = ModelCall(server.request(), KEY, transport)

        async def consume() -> None:
            async for event in call.events():
                if isinstance(event, TextDelta):
                    began.set()

        task = asyncio.create_task(consume())
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(dropped.wait(), 2)
        await transport.close()
    assert call.partial("aborted").text == "a"


async def test_cancelling_before_the_head_lets_go_of_a_server_on_this_machine_at_once():
    arrived, dropped = asyncio.Event(), asyncio.Event()

    async def handler(exchange: Exchange) -> None:
        arrived.set()
        await exchange.dropped()
        dropped.set()

    async with serving(handler) as server:
        await cancelled_after(arrived, server.request(), HttpTransport())
        await asyncio.wait_for(dropped.wait(), 2)


async def test_cancelling_before_the_head_reads_no_more_than_its_beginning_from_elsewhere():
    arrived, cancelled, dropped = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handler(exchange: Exchange) -> None:
        arrived.set()
        await cancelled.wait()
        await exchange.begin_chunked()
        await exchange.chunk(sse([{"choices": [{"delta": {"content": "a"}}]}]))
        await exchange.dropped()
        dropped.set()

    async with serving(handler) as server:
        transport = elsewhere()
        await cancelled_after(arrived, server.request(), transport)
        cancelled.set()
        await asyncio.wait_for(dropped.wait(), 2)
        await transport.close()


async def cancelled_after(moment: asyncio.Event, request: Request, transport: Transport) -> None:
    """A call that is cancelled while it waits for the first event."""
    task = asyncio.create_task(anext(ModelCall(request, KEY, transport).events()))
    await moment.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_connections_to_elsewhere_are_used_again():
    body = completions({"content": "x"})

    async def handler(exchange: Exchange) -> None:
        await exchange.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
        )

    async with serving(handler, keep_alive=True) as server:
        transport = elsewhere()
        for _ in range(3):
            async for _ in ModelCall(server.request(), KEY, transport).events():
                pass
        await transport.close()
    assert (len(server.exchanges), server.connections) == (3, 1)


async def test_twenty_megabytes_of_arguments_arrive(make: Make):
    text = "x" * 20_000_000
    arguments = '{"content":"' + text + '"}'
    pieces = [arguments[at : at + 50_000] for at in range(0, len(arguments), 50_000)]

    async def handler(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.write(
            completions(
                {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "write", "arguments": ""}}]},
                *({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces),
                finish="tool_calls",
            )
        )

    async with serving(handler) as server:
        events = await run(make, server.request())
    assert isinstance(events[-1], Finished)
    (call,) = events[-1].message.tool_calls
    assert call.input == {"content": text}


async def test_a_server_that_does_not_stream_is_understood(make: Make):
    async def handler(exchange: Exchange) -> None:
        await exchange.answer(
            200, b'{"choices":[{"message":{"content":"whole"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}'
        )

    async with serving(handler) as server:
        events = await run(make, server.request())
    assert isinstance(events[-1], Finished)
    assert events[-1].message.text == "whole"


@pytest.mark.parametrize("before", [b"", b": hello\n\n", b"event: message\n"])
async def test_an_event_stream_that_is_called_json_is_understood(make: Make, before: bytes):
    async def handler(exchange: Exchange) -> None:
        await exchange.answer(200, before + completions({"content": "x"}))

    async with serving(handler) as server:
        events = await run(make, server.request())
    assert isinstance(events[-1], Finished)
    assert events[-1].message.text == "x"


async def test_a_web_page_says_that_the_address_is_wrong(make: Make):
    async def handler(exchange: Exchange) -> None:
        await exchange.answer(200, b"<html>Welcome</html>", {"content-type": "text/html; charset=utf-8"})

    async with serving(handler) as server:
        with pytest.raises(ProtocolError, match="web page") as caught:
            await run(make, server.request())
    assert "base URL" in caught.value.show()


async def test_an_error_without_an_end_is_read_only_so_far(make: Make):
    dropped = asyncio.Event()

    async def handler(exchange: Exchange) -> None:
        await exchange.begin(500, {"content-type": "text/plain"})
        try:
            while True:
                await exchange.write(b"x" * 65_536)
        except ConnectionError:
            dropped.set()

    async with serving(handler) as server:
        with pytest.raises(OverloadedError) as caught:
            await run(make, server.request())
        await asyncio.wait_for(dropped.wait(), 5)
    assert len(caught.value.message) < 3_000


async def test_the_payload_can_be_replaced_and_half_characters_in_it_are_cleaned(make: Make):
    async def handler(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.write(completions({"content": "ok"}))

    async with serving(handler) as server:
        transport = make()
        call = ModelCall(server.request(), KEY, transport)
        call.payload = {**call.payload, "note": "a\ud800b"}
        async for _ in call.events():
            pass
        await transport.close()
    assert server.exchanges[0].json["note"] == "a\ufffdb"


async def test_the_credentials_headers_and_address_win(make: Make):
    async def handler(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.write(completions({"content": "ok"}))

    async with serving(handler) as server:
        request = server.request()
        credentials = Credentials(
            api_key="k", headers={"Authorization": "Basic abc", "X-Team": "t"}, base_url=f"{server.url}/proxy/"
        )
        await run(make, request, credentials)
    sent = server.exchanges[0]
    assert sent.path == "/proxy/chat/completions"
    assert (sent.headers["authorization"], sent.headers["x-team"]) == ("Basic abc", "t")


async def test_a_key_with_a_line_break_is_refused_without_being_shown(make: Make):
    async with serving(Exchange.dropped) as server:
        with pytest.raises(BadRequestError) as caught:
            await run(make, server.request(), Credentials(api_key="secret\nkey"))
    assert "secret" not in caught.value.show()
