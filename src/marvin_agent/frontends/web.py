"""A GET for commands that ask the network something else than models: bounded in time and size, loyal to one host."""

from datetime import timedelta
from urllib.parse import urljoin, urlsplit

from pyreqwest.client import SyncClient, SyncClientBuilder
from pyreqwest.exceptions import BuilderError, ConnectError, PyreqwestError, RequestTimeoutError

from marvin_agent.errors import NetworkError
from marvin_agent.messages import Value

MAX_BYTES = 32 * 1024 * 1024
_MAX_REDIRECTS = 3
_REDIRECTS = (301, 302, 303, 307, 308)


class Answer(Value):
    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes = b""


def get(url: str, seconds: float, *, max_bytes: int = MAX_BYTES, proxies: bool = True, body: bool = True) -> Answer:
    """What a server answers, whatever the status. A redirect is followed only to the same scheme, host and port.

    Raises NetworkError when there is no answer in time, or one that is too large or leads elsewhere.
    """
    builder = SyncClientBuilder().follow_redirects(False).referer(False).user_agent("marvin")
    builder = builder.timeout(timedelta(seconds=seconds)).connect_timeout(timedelta(seconds=seconds))
    start = urlsplit(url)
    place = start.netloc.rpartition("@")[2]
    try:
        with (builder if proxies else builder.no_proxy()).build() as client:
            for _ in range(_MAX_REDIRECTS + 1):
                answer = _get_once(client, url, max_bytes, body)
                if not body or answer.status not in _REDIRECTS or "location" not in answer.headers:
                    return answer
                url = urljoin(url, answer.headers["location"])
                target = urlsplit(url)
                if (target.scheme, target.netloc) != (start.scheme, start.netloc):
                    raise NetworkError(f"{place} leads to another host, {target.hostname}, which is not asked")
            raise NetworkError(f"{place} leads in circles")
    except ConnectError:
        raise NetworkError(f"no connection to {place}") from None
    except (RequestTimeoutError, TimeoutError):
        raise NetworkError(f"{place} did not answer within {seconds:g} seconds") from None
    except (BuilderError, ValueError):
        raise NetworkError(f"“{url}” is not an address that can be asked") from None
    except PyreqwestError:
        raise NetworkError(f"the connection to {place} broke") from None


def _get_once(client: SyncClient, url: str, max_bytes: int, body: bool) -> Answer:
    with client.get(url).build_streamed() as response:
        headers = {name.lower(): value for name, value in response.headers.items()}
        if not body:
            return Answer(status=response.status, headers=headers)
        chunks: list[bytes] = []
        size = 0
        while (chunk := response.body_reader.read_chunk()) is not None:
            chunks.append(bytes(chunk))
            size += len(chunk)
            if size > max_bytes:
                raise NetworkError(f"the answer is larger than {max_bytes >> 20} MiB")
        return Answer(status=response.status, headers=headers, body=b"".join(chunks))
