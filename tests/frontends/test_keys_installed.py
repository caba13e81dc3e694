"""Where keys do not get to, in the installed program: what hooks start, traces, sessions and files of any kind."""

from pathlib import Path

from program import Marvin

HOOK = """
def setup(marvin):
    @marvin.on("turn.start")
    async def look(event, ctx):
        ctx.ui.notify((await ctx.exec("env")).stdout)

    @marvin.on("auth.get")
    async def own(event, ctx):
        return {"api_key": "from-a-hook-31415926", "headers": {"x-tenant": "tenant-27182818"}}
"""
KEY = "plain-words-16180339"


def test_a_key_that_models_json_names_reaches_no_child_and_no_file(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "hello", "repeat": True})
    marvin.provider("own", api="openai-completions", baseUrl="http://127.0.0.1:9/v1", apiKey="MY_TEAM_KEY")
    hooks = marvin.config_dir / "hooks"
    hooks.mkdir()
    (hooks / "look.py").write_text(HOOK)
    done = marvin.run("-p", "--trace-hooks", "trace", "hi", env={"MY_TEAM_KEY": KEY, "OPENAI_API_KEY": KEY})
    assert "PATH=" in done.stderr
    assert KEY not in done.stderr
    assert (marvin.work / "trace").stat().st_mode & 0o077 == 0
    assert '"auth.get"' in (marvin.work / "trace").read_text()
    for path in tmp_path.rglob("*"):
        if path.is_file() and path.name != "look.py":
            text = path.read_bytes()
            assert KEY.encode() not in text, path
            assert b"31415926" not in text, path
            assert b"27182818" not in text, path


def test_what_hooks_env_names_reaches_what_that_hook_starts(tmp_path: Path) -> None:
    marvin = Marvin(tmp_path)
    marvin.script({"text": "hello", "repeat": True})
    hooks = marvin.config_dir / "hooks"
    hooks.mkdir()
    (hooks / "look.py").write_text(HOOK)
    marvin.configure(hooks={"env": {"global:look": ["OPENAI_API_KEY"]}})
    done = marvin.run("-p", "hi", env={"OPENAI_API_KEY": KEY, "GROQ_API_KEY": "other-key"})
    assert f"OPENAI_API_KEY={KEY}" in done.stderr
    assert "other-key" not in done.stderr
