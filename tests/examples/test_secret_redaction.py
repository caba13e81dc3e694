from pathlib import Path

import pytest

from examples.conftest import HOOKS, Example

KEY = "sk-abcdefghijklmnopqrstuv"


def test_a_key_in_a_tools_output_reaches_neither_the_model_nor_the_session(example: Example) -> None:
    call = {"name": "bash", "arguments": {"command": "cat settings"}}
    hook = example("secret_redaction", replies=[{"toolCalls": [call]}, {"text": "ok"}])
    (hook.work / "settings").write_text(f"url=https://me:hunter22@host/x\nkey={KEY}\npassword=opensesame\nport=80\n")
    hook.prompt("go")
    assert KEY not in str(hook.requests[1])
    assert "hunter22" not in str(hook.requests[1])
    assert "opensesame" not in str(hook.requests[1])
    assert "port=80" in str(hook.requests[1])
    stored = [path.read_text() for path in Path(hook.scripted.directory / "sessions").rglob("*.jsonl")]
    assert stored
    assert not any(KEY in text or "opensesame" in text for text in stored)


def test_the_details_are_cleaned_too(example: Example) -> None:
    hook = example("secret_redaction")
    done = hook.emit("tool.execute.after", content=[{"type": "text", "text": "x"}], details={"lines": [KEY, 1]})
    assert done.event.details == {"lines": ["[redacted]", 1]}


def test_a_key_in_the_prompt_is_hidden(example: Example) -> None:
    hook = example("secret_redaction", replies=[{"text": "ok"}])
    hook.prompt(f"why does {KEY} not work?")
    assert hook.sent == ["why does [redacted] not work?"]
    assert KEY not in str(hook.requests)


def test_values_of_secret_variables_are_hidden(example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "plain-looking-value")
    hook = example("secret_redaction")
    assert hook.call("bash", command="echo plain-looking-value").text.strip() == "[redacted]"


def test_a_private_key_that_is_cut_off_is_hidden_to_the_end(example: Example) -> None:
    text = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nmore"
    done = example("secret_redaction").emit("tool.execute.after", content=[{"type": "text", "text": f"a {text}"}])
    assert done.event.content[0].text == "a [redacted]"


def test_when_it_fails_the_result_is_withheld(example: Example, tmp_path: Path) -> None:
    broken = tmp_path / "secret_redaction.py"
    broken.write_text((HOOKS / "secret_redaction.py").read_text().replace("secret.sub(MASK, value)", "secret.nope()"))
    hook = example(str(broken.with_suffix("")))
    called = hook.call("bash", command=f"echo {KEY}")
    assert called.status == "error"
    assert KEY not in called.text
