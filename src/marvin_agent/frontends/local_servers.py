"""Model servers on this machine: who answers on the usual ports, with which models, and how to use them."""

import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from marvin_agent.errors import NetworkError
from marvin_agent.frontends.web import get
from marvin_agent.llm.catalog import Catalog
from marvin_agent.messages import Value

SECONDS = 1.0
_MAX_BYTES = 4 * 1024 * 1024


class LocalServer(Value):
    """A program that serves models, where it does so unless told otherwise."""

    provider: str
    name: str
    port: int

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


LOCAL_SERVERS = (
    LocalServer(provider="ollama", name="Ollama", port=11434),
    LocalServer(provider="llamacpp", name="llama.cpp", port=8080),
    LocalServer(provider="vllm", name="vLLM", port=8000),
    LocalServer(provider="lmstudio", name="LM Studio", port=1234),
)


class ServedModel(Value):
    id: str
    context_window: int | None = None
    """None when the server does not say."""


class FoundServer(Value):
    """A server that answered. With `problem` set it is there but did not list models."""

    server: LocalServer
    models: tuple[ServedModel, ...] = ()
    problem: str = ""


def find_local(servers: Sequence[LocalServer] = LOCAL_SERVERS, seconds: float = SECONDS) -> tuple[FoundServer, ...]:
    """Ask all of them at once; those where nobody listens are left out."""
    with ThreadPoolExecutor(len(servers) or 1) as pool:
        found = pool.map(lambda server: _ask(server, seconds), servers)
        return tuple(one for one in found if one is not None)


def advice(found: Iterable[FoundServer], catalog: Catalog, models_file: str) -> str:
    """How to use what was found: what to put into models.json, or the command when it is there already."""
    known = {model.base_url: model.provider for model in catalog.models()}
    lines: list[str] = []
    missing: dict[str, Any] = {}
    example = ""
    for one in found:
        if not one.models:
            continue
        if provider := known.get(one.server.base_url):
            lines.append(f"{one.server.name} is in models.json: marvin --model {provider}/{one.models[0].id}")
            continue
        missing[one.server.provider] = {
            "api": "openai-completions",
            "baseUrl": one.server.base_url,
            "models": [_entry(model) for model in one.models],
        }
        example = example or f"{one.server.provider}/{one.models[0].id}"
    if missing:
        text = msgspec.json.format(msgspec.json.encode({"providers": missing})).decode()
        lines += [
            f"To use what is not in {models_file} yet, put this there:",
            "",
            text,
            "",
            f"then: marvin --model {example}",
        ]
    return "\n".join(lines)


def _ask(server: LocalServer, seconds: float) -> FoundServer | None:
    try:
        answer = get(f"{server.base_url}/models", seconds, max_bytes=_MAX_BYTES, proxies=False)
    except NetworkError as error:
        # A port where nobody listens is no news; somebody who is slow or odd is.
        return None if error.message.startswith("no connection") else FoundServer(server=server, problem=error.message)
    if answer.status != 200:
        return FoundServer(server=server, problem=f"answered with HTTP {answer.status}")
    try:
        models = _models(msgspec.json.decode(answer.body))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return FoundServer(server=server, problem="answered with something else than a list of models")
    return FoundServer(server=server, models=models, problem="" if models else "has no model loaded")


def _models(answer: Any) -> tuple[ServedModel, ...]:
    listed = answer.get("data") if isinstance(answer, dict) else None
    found: list[ServedModel] = []
    for item in listed if isinstance(listed, list) else []:
        identifier = item.get("id") if isinstance(item, dict) else None
        if isinstance(identifier, str) and re.fullmatch(r"[\x21-\x7e]{1,300}", identifier):
            found.append(ServedModel(id=identifier, context_window=_context(item)))
    return tuple(found)


def _context(item: dict[str, Any]) -> int | None:
    """vLLM says it at the top, llama.cpp in `meta`: what it was started with, not what the model was trained for."""
    meta = item.get("meta")
    values = [item.get("max_model_len"), meta.get("n_ctx") if isinstance(meta, dict) else None]
    return next((value for value in values if isinstance(value, int) and value > 0), None)


def _entry(model: ServedModel) -> dict[str, Any]:
    return {"id": model.id} if model.context_window is None else {"id": model.id, "contextWindow": model.context_window}
