"""A model server that follows a script, on 127.0.0.1: four protocols, faults included, every request remembered.

In a test:

    with ScriptedServer(Script.of({"text": "Hello"})) as server:
        ...  # a program that is pointed at server.url
        assert server.requests[0].body["model"] == "scripted"

By itself: `python -m marvin_agent.testing.server SCRIPT [--port N]` prints its address and serves until it is stopped.
"""

import argparse
import asyncio
import sys
import threading
from collections.abc import Callable

from marvin_agent.errors import MarvinError
from marvin_agent.llm.offline.script import Script
from marvin_agent.testing.service import Connection, SeenRequest, Service

HOST = "127.0.0.1"


class ScriptedServer:
    """Serves a script from a thread of its own, so that tests with and without a loop can use it."""

    def __init__(self, script: Script, *, port: int = 0) -> None:
        self._service = Service(script)
        self._port = port
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scripted model server", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._failure: OSError | None = None

    def __enter__(self) -> "ScriptedServer":
        self._thread.start()
        self._ready.wait()
        if self._failure:
            raise self._failure
        return self

    def __exit__(self, *_: object) -> None:
        if self._loop and self._stop:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    @property
    def origin(self) -> str:
        """`http://127.0.0.1:PORT`: the base of Anthropic; Gemini's is `/v1beta` under it."""
        return f"http://{HOST}:{self._port}"

    @property
    def url(self) -> str:
        """The base of the OpenAI protocols."""
        return f"{self.origin}/v1"

    @property
    def requests(self) -> list[SeenRequest]:
        """What was asked so far, in order."""
        return list(self._service.requests)

    @property
    def script(self) -> Script:
        return self._service.script

    def wait_until(self, reached: Callable[["ScriptedServer"], bool], timeout: float = 10.0) -> None:
        """Block until a request, or a client that goes away, makes it true. TimeoutError after `timeout` seconds."""
        with self._service.changed:
            if not self._service.changed.wait_for(lambda: reached(self), timeout):
                raise TimeoutError(f"not reached after {len(self._service.requests)} requests")

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        try:
            server = await listen(self._service, self._port)
            self._port = port_of(server)
        except OSError as error:
            self._failure = error
            return
        finally:
            self._ready.set()
        await self._stop.wait()
        server.close()
        for connection in tuple(self._service.connections):
            await connection.close()


async def listen(service: Service, port: int) -> asyncio.Server:
    """Begin to listen; port 0 is any that is free."""
    return await asyncio.get_running_loop().create_server(lambda: Connection(service), HOST, port)


def port_of(server: asyncio.Server) -> int:
    port: int = server.sockets[0].getsockname()[1]
    return port


def main(arguments: list[str] | None = None) -> int:
    """Serve a script until stopped."""
    parser = argparse.ArgumentParser(prog="python -m marvin_agent.testing.server", description="Serve a script.")
    parser.add_argument("script", help="a file of replies, see docs/scripted.md")
    parser.add_argument("--port", type=int, default=0, help="any free one when absent")
    given = parser.parse_args(arguments)
    try:
        script = Script.load(given.script)
        asyncio.run(_serve(script, given.port))
    except MarvinError as error:
        sys.stderr.write(error.show() + "\n")
        return error.exit_code
    except OSError as error:
        sys.stderr.write(f"Cannot listen on port {given.port}: {error.strerror}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


async def _serve(script: Script, port: int) -> None:
    server = await listen(Service(script), port)
    sys.stdout.write(f"http://{HOST}:{port_of(server)}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
