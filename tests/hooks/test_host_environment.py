"""Environments of hook files: the block, versions, installing from wheels made here, locks, failures."""

import asyncio
import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from test_host_api import results
from test_host_life import before, send

from marvin_agent.errors import HookError
from marvin_agent.hooks.hosts import environment
from marvin_agent.hooks.hosts.script import Block, read_block
from marvin_agent.hooks.hosts.versions import satisfies
from marvin_agent.programs import installed_program
from marvin_agent.testing.engine import ScriptedEngine
from program import Marvin

UV = installed_program("uv")


def wheel(directory: Path, name: str = "tinylib", version: str = "1.0", code: str = "WORD = 'tiny'\n") -> Path:
    """A wheel with one module."""
    directory.mkdir(exist_ok=True)
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},{len(text)}"
        for path, text in files.items()
    ]
    path = directory / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        for inner, text in files.items():
            file.writestr(inner, text)
        file.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,"]) + "\n")
    return path


def block(text: str) -> Block | None:
    lines = "".join(f"# {line}\n" if line else "#\n" for line in text.strip("\n").split("\n"))
    return read_block(f"import os\n# /// script\n{lines}# ///\n".encode(), "own.py")


def test_a_block_is_read_and_what_is_wrong_in_it_is_told_with_its_line() -> None:
    assert read_block(b"def setup(marvin): pass\n", "own.py") is None
    assert read_block(b"# /// other\n# a = 1\n# ///\n", "own.py") is None
    assert block('dependencies = ["requests>=2 ", "rich"]\nrequires-python = ">=3.11"') == Block(
        ("requests>=2", "rich"), ">=3.11"
    )
    isolated = block("[tool.marvin]\nisolate = true")
    assert isolated
    assert isolated.isolate
    windows = read_block(b"# /// script\r\n# dependencies = ['a']\r\n# ///\r\n", "own.py")
    assert windows == Block(("a",))
    for wrong, complaint in {
        "dependencies = [": "own.py:2: the `# /// script` block is not valid TOML",
        'dependencies = "requests"': "own.py:2: `dependencies` is a list of texts",
        "requires-python = 3.11": "`requires-python` is a text",
        "[tool.marvin]\nisolate = 1": "`isolate` in [tool.marvin] is true or false",
        "[tool.marvin]\nisolated = true": "has no 'isolated'",
    }.items():
        with pytest.raises(HookError) as caught:
            block(wrong)
        assert complaint in str(caught.value)
    with pytest.raises(HookError, match=r"own\.py:5: a file has one"):
        read_block(b"# /// script\n# a = 1\n# ///\n\n# /// script\n# b = 1\n# ///\n", "own.py")


@pytest.mark.parametrize(
    ("specifier", "met"),
    [
        *[("", True), (">=3.11", True), (">=3.11,<4", True), ("<3.11", False), ("==3.11.*", True), ("!=3.11.*", False)],
        *[("~=3.11", True), ("~=3.10", True), ("~=3.11.0", True), ("~=3.10.0", False), ("==3.11.7", True)],
        *[("==3.11", False), (">3.11", True), ("<=3.11", False), (">=3.12", False), ("===3.11.7", True)],
    ],
)
def test_versions_are_compared(specifier: str, met: bool) -> None:
    assert satisfies("3.11.7", specifier) is met


def test_a_specifier_that_is_none_is_told() -> None:
    with pytest.raises(HookError, match="'latest' is no version specifier"):
        satisfies("3.11.7", "latest")


class Maker:
    """Makes environments from a directory of wheels, with uv or with pip."""

    def __init__(self, base: Path, tool: str) -> None:
        if tool == "uv" and UV is None:
            pytest.skip("uv is not installed")
        self.wheels = base / "wheels"
        self.cache = base / "cache"
        self.told: list[str] = []
        # Without uv on it, what there is falls back on pip.
        programs = base / "bin"
        programs.mkdir()
        if UV and tool == "uv":
            (programs / "uv").symlink_to(UV)
        self.environ = {
            "HOME": str(base),
            "PATH": str(programs),
            "UV_CACHE_DIR": str(base / "uv"),
            "UV_OFFLINE": "1",
            "PIP_NO_INDEX": "1",
            "PIP_CONFIG_FILE": os.devnull,
        }

    async def make(self, *dependencies: str, **more: Any) -> str:
        made = Block(dependencies, tool={"uv": {"no-index": True, "find-links": ["wheels"]}}, **more)
        return await environment.python_for(
            made,
            base=str(self.wheels.parent),
            cache_dir=str(self.cache),
            environ=self.environ,
            progress=self.told.append,
        )


@pytest.fixture(params=["uv", "pip"])
def maker(tmp_path: Path, request: pytest.FixtureRequest) -> Maker:
    return Maker(tmp_path, request.param)


async def said(python: str, code: str) -> str:
    process = await asyncio.create_subprocess_exec(
        python, "-I", "-c", code, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    return (await process.communicate())[0].decode().strip()


@pytest.mark.parametrize("tool", ["uv", "pip", "no pip"])
async def test_an_environment_is_made_once_locked_and_found_again_without_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    if tool == "no pip":
        monkeypatch.setattr(environment, "has_pip", lambda: False)
    maker = Maker(tmp_path, tool)
    wheel(maker.wheels)
    python = await maker.make("tinylib>=1")
    assert await said(python, "import tinylib; print(tinylib.WORD)") == "tiny"
    assert "tinylib>=1" in maker.told[0]
    assert maker.told[-1].startswith("installed in")
    (lock,) = maker.cache.glob("*.lock")
    assert "tinylib==1.0" in lock.read_text()
    assert hashlib.sha256((maker.wheels / "tinylib-1.0-py3-none-any.whl").read_bytes()).hexdigest() in lock.read_text()
    shutil.rmtree(maker.wheels)
    maker.environ["PATH"] = "/nowhere"
    maker.told.clear()
    assert await maker.make(" tinylib>=1") == python
    assert maker.told == []


async def test_a_lost_environment_is_made_again_as_it_was_locked(maker: Maker) -> None:
    wheel(maker.wheels)
    python = await maker.make("tinylib")
    shutil.rmtree(os.path.dirname(os.path.dirname(python)))
    wheel(maker.wheels, version="2.0", code="WORD = 'new'\n")
    assert await maker.make("tinylib") == python
    assert await said(python, "import tinylib; print(tinylib.WORD)") == "tiny"


async def test_a_changed_wheel_does_not_pass_the_lock(maker: Maker) -> None:
    wheel(maker.wheels)
    python = await maker.make("tinylib")
    shutil.rmtree(os.path.dirname(os.path.dirname(python)))
    shutil.rmtree(maker.wheels.parent / "uv", ignore_errors=True)
    wheel(maker.wheels, code="WORD = 'evil'\n")
    with pytest.raises(HookError, match=r"(?i)hash"):
        await maker.make("tinylib")
    assert not os.path.exists(python)


async def test_what_cannot_be_installed_is_told_with_the_tools_words_and_leaves_nothing(maker: Maker) -> None:
    wheel(maker.wheels)
    with pytest.raises(HookError) as caught:
        await maker.make("no-such-thing==9")
    message = str(caught.value)
    assert "its dependencies (no-such-thing==9) cannot be installed" in message
    assert "no-such-thing" in message.split("\n", 1)[1]
    assert "Mend the `# /// script` block or the network" in message
    assert not list(maker.cache.glob("*/marvin-ready"))
    assert await said(await maker.make("tinylib"), "import tinylib") == ""


async def test_several_that_start_at_once_make_it_once(tmp_path: Path) -> None:
    maker = Maker(tmp_path, "uv" if UV else "pip")
    wheel(maker.wheels)
    pythons = await asyncio.gather(*(maker.make("tinylib") for _ in range(4)))
    assert len(set(pythons)) == 1
    assert len([text for text in maker.told if text.startswith("installing")]) == 1
    assert "waiting for another marvin that installs the same" in maker.told


async def test_half_an_environment_does_not_count(tmp_path: Path) -> None:
    maker = Maker(tmp_path, "uv" if UV else "pip")
    wheel(maker.wheels)
    python = await maker.make("tinylib")
    directory = Path(python).parent.parent
    (directory / "marvin-ready").unlink()
    shutil.rmtree(directory / "lib")
    assert await said(await maker.make("tinylib"), "import tinylib") == ""


async def test_another_python_is_asked_for_in_vain(tmp_path: Path) -> None:
    with pytest.raises(HookError, match=r"it needs Python <3 \(requires-python\)"):
        await Maker(tmp_path, "pip").make("tinylib", requires_python="<3")


async def test_without_dependencies_this_python_is_used(tmp_path: Path) -> None:
    made = Block((), ">=3.11")
    python = await environment.python_for(
        made, base="/", cache_dir=str(tmp_path / "none"), environ={}, progress=lambda text: None
    )
    assert python == sys.executable
    assert not (tmp_path / "none").exists()


HOOK = """# /// script
# dependencies = ["tinylib"]
# [tool.uv]
# no-index = true
# find-links = ["wheels"]
# ///
import os, sys
import tinylib
from marvin_agent.hooks import HookAPI, Text, ToolExecuteBefore

def here(name):
    try:
        __import__(name)
    except ImportError:
        return False
    return True

def setup(marvin: HookAPI) -> None:
    @marvin.on(ToolExecuteBefore, tools=("bash",))
    def look(event, ctx):
        event.input["it"] = [tinylib.WORD, here("msgspec"), here("pytest"), ctx.model.ref, Text(text="x").text]

    @marvin.tool
    def word(times: int = 1) -> str:
        '''The word.'''
        return tinylib.WORD * times
"""


async def test_a_hook_with_dependencies_needs_nothing_of_ours_in_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_OFFLINE", "1")
    wheel(tmp_path / "wheels")
    (tmp_path / "own.py").write_text(HOOK)
    replies = [{"toolCalls": [{"name": "word", "arguments": {"times": 2}}]}, {"text": "ok"}]
    async with ScriptedEngine(tmp_path, replies, hook_files=[str(tmp_path / "own.py")]) as e:
        assert e.engine.hooks.problems == []
        assert (await send(e, before())).event.input["it"] == ["tiny", False, False, "test/one", "x"]
        await e.prompt("go")
        assert results(e) == ["tinytiny"]
        assert any(text.startswith("installing what it needs") for text, _, _ in e.notes)


def test_the_program_shows_the_progress_and_the_failure(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "done"})
    wheel(tmp_path / "wheels")
    (tmp_path / "own.py").write_text(HOOK)
    marvin.env |= {"UV_OFFLINE": "1", "UV_CACHE_DIR": str(tmp_path / "uv")}
    first = marvin.run("-p", "hi", "--hook", str(tmp_path / "own.py"))
    assert (first.code, first.stdout) == (0, "done\n")
    assert "installing what it needs" in first.stderr
    second = marvin.run("-p", "hi", "--hook", str(tmp_path / "own.py"))
    assert second.stderr == ""
    (tmp_path / "own.py").write_text(HOOK.replace('"tinylib"', '"nothing-like-this"'))
    failed = marvin.run("-p", "hi", "--hook", str(tmp_path / "own.py"))
    assert failed.stdout == "done\n"
    assert "its dependencies (nothing-like-this) cannot be installed" in failed.stderr


def test_checking_listing_running_and_testing_a_hook_install_what_it_needs_once(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    wheel(tmp_path / "wheels")
    own = marvin.config_dir / "hooks" / "own.py"
    own.parent.mkdir()
    own.write_text(
        "# /// script\n# dependencies = ['tinylib']\n# [tool.uv]\n# no-index = true\n"
        f"# find-links = [{str(tmp_path / 'wheels')!r}]\n# ///\n"
        "import tinylib\n"
        "def setup(marvin):\n    marvin.on('turn.end', lambda event, ctx: ctx.ui.notify(tinylib.WORD))\n"
    )
    checked = marvin.run("hooks", "check")
    assert "own.py: turn.end" in checked.stdout, checked.stderr
    assert "installing what it needs" in checked.stderr
    (tmp_path / "wheels" / "tinylib-1.0-py3-none-any.whl").unlink()  # from here on nothing can be installed
    assert "global:own                   loaded      turn.end" in marvin.run("hooks", "list").stdout
    ran = marvin.run("hooks", "run", str(own), "--event", "turn.end").stdout.splitlines()
    assert ran[1] == "told the user: tiny"
    (marvin.work / "test_own.py").write_text(
        f"def test_it(marvin_hook):\n    hook = marvin_hook({str(own)!r})\n    hook.emit('turn.end')\n"
        "    assert hook.told == ['tiny']\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_own.py"]
    env = {**marvin.env, "PYTHONWARNINGS": ""}
    done = subprocess.run(command, cwd=marvin.work, env=env, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout, done.stdout


def test_the_report_of_pip_becomes_a_lock(tmp_path: Path) -> None:
    def item(name: str, **source: Any) -> dict[str, Any]:
        return {"metadata": {"name": name, "version": "1"}, "download_info": source, "is_direct": "vcs_info" in source}

    hashed = item("b", url="u", archive_info={"hashes": {"sha256": "ff"}})
    cloned = item("a", url="https://h/r", vcs_info={"vcs": "git", "commit_id": "c0"})
    (tmp_path / "report").write_text(json.dumps({"install": [hashed]}))
    assert environment._lock_of(str(tmp_path / "report")) == "b==1 --hash=sha256:ff\n"
    (tmp_path / "report").write_text(json.dumps({"install": [hashed, cloned]}))
    assert environment._lock_of(str(tmp_path / "report")) == "a @ git+https://h/r@c0\nb==1\n"


@pytest.mark.parametrize(
    "archive",
    [{"hashes": {"sha256": "abc"}, "hash": "sha256=abc"}, {"hash": "sha256=abc"}, {"hash": "md5=x"}, {}],
    ids=["pip since 23.1", "pip before it", "another kind of hash", "no hash"],
)
def test_a_lock_has_the_hashes_whichever_pip_told_them(tmp_path: Path, archive: dict[str, Any]) -> None:
    path = wheel(tmp_path / "with blanks")
    digest = "abc" if "abc" in str(archive) else hashlib.sha256(path.read_bytes()).hexdigest()
    item = {
        "metadata": {"name": "tinylib", "version": "1.0"},
        "download_info": {"url": path.as_uri(), "archive_info": archive},
    }
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"install": [item]}))
    assert environment._lock_of(str(report)) == f"tinylib==1.0 --hash=sha256:{digest}\n"
