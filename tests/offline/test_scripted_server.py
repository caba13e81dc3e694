"""The scripted server: real connections, real faults, every request remembered."""

import http.client
import json
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from marvin_agent.llm.offline.script import Script
from marvin_agent.testing.server import ScriptedServer

CHAT = "/v1/chat/completions"


def ask(
    server: ScriptedServer, path: str = CHAT, headers: dict[str, str] | None = None, **body: Any
) -> tuple[int, bytes]:
    with closing(connect(server)) as connection:
        connection.request("POST", path, json.dumps({"stream": True, "model": "m", **body}), headers or {})
        with connection.getresponse() as response:
            return response.status, response.read()


def connect(server: ScriptedServer, timeout: float = 10) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(server.origin.removeprefix("http://"), timeout=timeout)


def test_requests_are_remembered_with_headers_and_body() -> None:
    with ScriptedServer(Script.of({"text": "hi there"})) as server:
        assert server.url == server.origin + "/v1"
        status, data = ask(server, CHAT + "?a=b", {"X-Own": "1"}, messages=[])
        request = server.requests[0]
    assert status == 200
    assert b'"content":" there"' in data
    assert data.endswith(b"data: [DONE]\n\n")
    assert (request.method, request.path, request.target) == ("POST", CHAT, CHAT + "?a=b")
    assert request.headers["x-own"] == "1"
    assert request.body == {"stream": True, "model": "m", "messages": []}
    assert not request.dropped


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (CHAT, b"[DONE]"),
        ("/v1/messages", b"event: message_stop"),
        ("/v1/responses", b"event: response.completed"),
        ("/v1beta/models/g-1:streamGenerateContent?alt=sse", b'"finishReason":"STOP"'),
    ],
)
def test_each_path_speaks_its_protocol(path: str, expected: bytes) -> None:
    with ScriptedServer(Script.of({"text": "hi"})) as server:
        status, data = ask(server, path)
    assert status == 200
    assert expected in data


def test_models_are_listed_and_tokens_counted_without_using_the_script() -> None:
    with ScriptedServer(Script.of({"text": "a"})) as server:
        connection = connect(server)
        connection.request("GET", "/v1/models")
        listed = json.loads(connection.getresponse().read())
        connection.request("POST", "/v1/messages/count_tokens", "x" * 40)
        counted = json.loads(connection.getresponse().read())
        connection.request("HEAD", "/nowhere")
        nowhere = connection.getresponse()
        assert (nowhere.status, nowhere.read()) == (404, b"")
        connection.close()
        assert server.script.taken == 0
        assert len(server.requests) == 3
    assert [model["id"] for model in listed["data"]] == ["scripted"]
    assert counted == {"input_tokens": 10}


def test_one_connection_serves_many_requests() -> None:
    with ScriptedServer(Script.of({"text": "a", "repeat": True})) as server:
        connection = connect(server)
        sockets = set()
        for _ in range(3):
            connection.request("POST", CHAT, '{"stream": true}')
            assert connection.getresponse().read().endswith(b"[DONE]\n\n")
            sockets.add(id(connection.sock))
        connection.close()
    assert len(sockets) == 1


def test_a_body_in_chunks_is_read() -> None:
    with ScriptedServer(Script.of({"text": "a"})) as server:
        connection = connect(server)
        connection.request(
            "POST",
            CHAT,
            iter([b'{"stream"', b": true}"]),
            encode_chunked=True,
            headers={"Transfer-Encoding": "chunked"},
        )
        assert connection.getresponse().read().endswith(b"[DONE]\n\n")
        connection.close()
        assert server.requests[0].body == {"stream": True}


def test_what_is_not_http_is_refused() -> None:
    with ScriptedServer(Script.of()) as server, socket.create_connection(("127.0.0.1", int(server.origin[17:]))) as raw:
        raw.sendall(b"nonsense\r\n\r\n")
        assert raw.recv(1000).startswith(b"HTTP/1.1 400")


def test_a_refused_connection_gives_no_answer() -> None:
    with ScriptedServer(Script.of({"fault": "connect"}, {"text": "a"})) as server:
        with pytest.raises(ConnectionError):
            ask(server)
        assert ask(server)[0] == 200


def test_a_cut_stream_breaks_after_its_pieces() -> None:
    script = Script.of({"text": "a b c", "fault": {"kind": "cut", "afterChunks": 2}})
    with ScriptedServer(script) as server, pytest.raises(http.client.IncompleteRead) as caught:
        ask(server)
    assert b'" b"' in caught.value.partial
    assert b'" c"' not in caught.value.partial


def test_silence_keeps_the_connection_open_and_sends_nothing() -> None:
    with ScriptedServer(Script.of({"text": "a b c", "fault": "silence"})) as server:
        connection = connect(server, timeout=0.3)
        connection.request("POST", CHAT, '{"stream": true}')
        response = connection.getresponse()
        assert b'"a"' in response.read1() + response.read1()
        with pytest.raises(TimeoutError):
            response.read1()
        connection.close()
        response.close()
        server.wait_until(lambda server: server.requests[0].dropped)


def test_a_client_that_hangs_up_is_noticed() -> None:
    with ScriptedServer(Script.of({"text": "a b c", "chunkDelayMs": 60_000})) as server:
        connection = connect(server)
        connection.request("POST", CHAT, '{"stream": true}')
        response = connection.getresponse()
        response.close()
        connection.close()
        server.wait_until(lambda server: server.requests[0].dropped)


def test_waiting_for_what_does_not_come_ends() -> None:
    with ScriptedServer(Script.of()) as server, pytest.raises(TimeoutError):
        server.wait_until(lambda server: len(server.requests) == 1, timeout=0.01)


def test_status_faults_come_with_their_headers() -> None:
    with ScriptedServer(Script.of({"fault": {"status": 529, "retryAfter": 2}})) as server:
        connection = connect(server)
        connection.request("POST", "/v1/messages", '{"stream": true}')
        response = connection.getresponse()
        assert (response.status, response.headers["retry-after"]) == (529, "2")
        assert json.loads(response.read())["error"]["type"] == "overloaded_error"
        connection.close()


def test_the_server_stops_while_a_client_still_waits() -> None:
    with ScriptedServer(Script.of({"text": "a", "delayMs": 60_000})) as server:
        connection = connect(server)
        connection.request("POST", CHAT, '{"stream": true}')
        server.wait_until(lambda server: len(server.requests) == 1)
        begun = time.monotonic()
    assert time.monotonic() - begun < 5
    with pytest.raises(ConnectionError):
        connection.getresponse()
    connection.close()


def test_a_port_that_is_taken_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match="address already in use"), ScriptedServer(Script.of(), port=port):
            pass


def test_by_itself_it_prints_its_address(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('{"version": 1, "replies": [{"text": "hello"}]}')
    command = [sys.executable, "-m", "marvin_agent.testing.server", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
        connection.request("POST", CHAT, '{"stream": true}')
        assert b"hello" in connection.getresponse().read()
        connection.close()
        process.terminate()


def test_by_itself_it_says_what_is_wrong_with_a_script(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('{"version": 1, "replies": [{"txt": "hello"}]}')
    command = [sys.executable, "-m", "marvin_agent.testing.server", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 78
    assert "script.json:1" in done.stderr
    assert "Traceback" not in done.stderr
