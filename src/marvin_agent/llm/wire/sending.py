"""What the wires share in sending: the address, and whose headers win."""

from collections.abc import Mapping
from typing import Any

import msgspec

from marvin_agent.llm.values import Credentials, HttpRequest, Model


def http_request(
    model: Model, credentials: Credentials, path: str, payload: dict[str, Any], headers: Mapping[str, str]
) -> HttpRequest:
    """A POST of the payload. The wire's headers give way to the model's, and those to the credentials'."""
    merged = {"content-type": "application/json", "accept": "text/event-stream"}
    for some in (headers, model.headers, credentials.headers):
        merged.update({name.lower(): value for name, value in some.items()})
    return HttpRequest(url=address(model, credentials, path), headers=merged, body=msgspec.json.encode(payload))


def address(model: Model, credentials: Credentials, path: str) -> str:
    """The base URL, whatever slashes it ends in, and the path; a query in the base URL stays behind it."""
    base, mark, query = (credentials.base_url or model.base_url).partition("?")
    return base.rstrip("/") + path + mark + query
