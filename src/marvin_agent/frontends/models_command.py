"""`marvin models`: which models there are, which servers run here, and a newer catalogue."""

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import msgspec

from marvin_agent.errors import ConfigError, NetworkError, UsageError
from marvin_agent.frontends.local_servers import LOCAL_SERVERS, LocalServer, advice, find_local
from marvin_agent.frontends.model_sources import ModelSources, open_sources, refreshed_file
from marvin_agent.frontends.table import printable, table
from marvin_agent.frontends.web import get
from marvin_agent.jsonfile import write_json
from marvin_agent.llm.auth.keys import key_source, needs_key
from marvin_agent.llm.catalog import DATA_FILE, Catalog, read_catalog
from marvin_agent.llm.modelsdev import refresh
from marvin_agent.llm.names import matches
from marvin_agent.llm.values import Model
from marvin_agent.places import Places

MODELS_DEV = "https://models.dev/api.json"
_REFRESH_SECONDS = 20.0
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words and options that stand after `marvin models`."""
    parser.add_argument("query", nargs="*", help="parts of a name; `refresh` fetches the newest catalogue")
    parser.add_argument("--local", action="store_true", help="look for model servers on this machine")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--url", default=MODELS_DEV, help="where `refresh` gets the data (default: %(default)s)")


def run(
    arguments: argparse.Namespace,
    places: Places,
    environ: Mapping[str, str] = os.environ,
    servers: Sequence[LocalServer] = LOCAL_SERVERS,
) -> int:
    """Do what the arguments say; the exit code."""
    if arguments.query == ["refresh"]:
        return refresh_catalog(places, arguments.url)
    sources = open_sources(places, _notice)
    if arguments.local:
        return show_local(sources.catalog, places, servers, arguments.json)
    return show_models(sources, " ".join(arguments.query), environ, arguments.json)


def show_models(sources: ModelSources, query: str, environ: Mapping[str, str], as_json: bool) -> int:
    """Print the models that a query names; all without one. 1 when there is none."""
    found = [model for model in sources.catalog.models() if _asked_for(model, query)]
    keys = {name: _key_state(name, sources, environ) for name in {model.provider for model in found}}
    if as_json:
        values = [
            {
                **msgspec.to_builtins(model),
                "ref": model.ref,
                "images": model.images,
                "key": keys[model.provider] != "no",
            }
            for model in found
        ]
        print(msgspec.json.format(msgspec.json.encode(values)).decode())
        return 0 if found else 1
    if not found:
        print(f"No model has “{printable(query)}” in its name.", file=sys.stderr)
        return 1
    head = ("model", "context", "$ in", "$ out", "thinking", "images", "key")
    rows = [
        (
            model.ref,
            tokens(model.context_window),
            _dollars(model.cost.input),
            _dollars(model.cost.output),
            "yes" if model.reasoning else "-",
            "yes" if model.images else "-",
            keys[model.provider],
        )
        for model in found
    ]
    for line in table(head, rows, right=frozenset({1, 2, 3})):
        print(line)
    print(f"\n{len(found)} models; dollars per million tokens; data of {sources.catalog.date}.")
    return 0


def show_local(catalog: Catalog, places: Places, servers: Sequence[LocalServer], as_json: bool) -> int:
    """Print who serves models on this machine. 1 when nobody does."""
    found = find_local(servers)
    serving = any(one.models for one in found)
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(found)).decode())
        return 0 if serving else 1
    for one in found:
        print(f"{one.server.name} at {one.server.base_url}" + (f": {printable(one.problem)}" if one.problem else ""))
        for model in one.models:
            size = f"  ({tokens(model.context_window)} tokens of context)" if model.context_window else ""
            print(f"  {model.id}{size}")
    if not found:
        ports = ", ".join(f"{server.name} {server.port}" for server in servers)
        print(f"No model server answers on this machine's usual ports ({ports}).", file=sys.stderr)
        print("Start one, or give its address in models.json.", file=sys.stderr)
    elif serving:
        print("\n" + advice(found, catalog, places.models_file))
    return 0 if serving else 1


def refresh_catalog(places: Places, url: str, today: str | None = None) -> int:
    """Fetch models.dev and keep what it says. When that fails the old data stay, and the exit code is 1."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise UsageError(f"“{printable(url)}” is not an https address")
    path = refreshed_file(places)
    current = Catalog.load(refreshed_file=path, notify=_notice)
    try:
        answer = get(url, _REFRESH_SECONDS)
        if answer.status != 200:
            raise NetworkError(f"{parts.hostname} answered with HTTP {answer.status}")
        made = refresh(current.file, answer.body, today or time.strftime("%Y-%m-%d", time.gmtime()))
    except (NetworkError, ConfigError) as error:
        print(f"{printable(error.message)}. The models of {current.date} stay in use.", file=sys.stderr)
        return 1
    # Whatever is wrong with the new data must show before the old ones are replaced.
    Catalog(made.catalog).models()
    write_json(path, made.catalog)
    skipped = f", {made.skipped} not understood" if made.skipped else ""
    print(f"The catalogue is of {made.catalog.date}: {made.added} new models, {made.changed} changed{skipped}.")
    if made.catalog.date < read_catalog(DATA_FILE).date:
        print("This marvin came with younger data, which stay in use: is the clock right?", file=sys.stderr)
    return 0


def tokens(count: int) -> str:
    """A number of tokens, as people say it: 128k, 1.05M."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if count >= 100 * size:
            return f"{count // size}{unit}"
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return str(count)


def _asked_for(model: Model, query: str) -> bool:
    if matches(query, (model.ref, model.name)):
        return True
    text = f"{model.ref} {model.name}".lower()
    return all(word in text for word in query.lower().split())


def _key_state(provider: str, sources: ModelSources, environ: Mapping[str, str]) -> str:
    if source := key_source(provider, environ, sources.auth_file, sources.custom):
        return f"yes ({source})"
    return "no" if needs_key(provider, sources.custom) else "not needed"


def _dollars(price: float) -> str:
    return f"{price:.4f}".rstrip("0").rstrip(".") if price else "-"


def _notice(line: str) -> None:
    print(line, file=sys.stderr)
