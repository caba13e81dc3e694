import pytest

from examples.conftest import Example


@pytest.mark.parametrize(
    "path", [".env", "config/.env.local", ".git/config", "certs/server.pem", "uv.lock", ".marvin/hooks/x.py"]
)
def test_a_protected_file_is_not_written(example: Example, path: str) -> None:
    hook = example("protected_paths")
    called = hook.call("write", path=path, content="x")
    assert called.status == "blocked"
    assert "is protected by the rule" in called.text
    assert not (hook.work / path).exists()


def test_other_files_are_written(example: Example) -> None:
    hook = example("protected_paths")
    assert hook.call("write", path="src/environment.py", content="x").status == "ok"


def test_neither_a_link_nor_a_detour_leads_around_the_rule(example: Example) -> None:
    hook = example("protected_paths")
    (hook.work / ".env").write_text("KEY=1")
    (hook.work / "innocent").symlink_to(".env")
    (hook.work / "src").mkdir()
    for path in ("innocent", "src/../.env", str(hook.work / ".env")):
        assert hook.call("write", path=path, content="x").status == "blocked", path
    assert (hook.work / ".env").read_text() == "KEY=1"


@pytest.mark.parametrize(
    "command", ["echo x > .env", "rm .git/index", "sed -i s/a/b/ '.env'", "cp x target=.env", "echo x>.env"]
)
def test_a_shell_command_that_names_one_is_refused(example: Example, command: str) -> None:
    assert example("protected_paths").call("bash", command=command).status == "blocked"


def test_the_rules_can_be_replaced(example: Example) -> None:
    hook = example("protected_paths", settings={"paths": ["vendor/*"]})
    assert hook.call("write", path="vendor/a/b.c", content="x").status == "blocked"
    assert hook.call("write", path="src/vendor.c", content="x").status == "ok"
    assert hook.call("bash", command="echo x > .env").status == "ok"
