"""A real HTTP server on 127.0.0.1 for the tests of commands that ask the network something."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Reply = tuple[int, dict[str, str], bytes]


class WebServer:
    """Answers paths with what `replies` says, 404 otherwise, and keeps the requests' paths and headers."""

    def __init__(self, port: int, replies: dict[str, Reply]) -> None:
        self.port = port
        self.replies = replies
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.stop = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def serving(replies: dict[str, Reply]) -> Iterator[WebServer]:
    """A server for as long as the block lasts. A path ending in /silent gets no answer until then."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.paths.append(self.path)
            served.headers.append({name.lower(): value for name, value in self.headers.items()})
            if self.path.endswith("/silent"):
                served.stop.wait(20)
                return
            status, headers, body = served.replies.get(self.path, (404, {}, b"not here"))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                pass

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = WebServer(server.server_address[1], replies)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        served.stop.set()
        server.shutdown()
        server.server_close()
        thread.join()
