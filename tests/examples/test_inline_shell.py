import pytest

from examples.conftest import Example


def message(text: str, source: str = "user") -> dict[str, object]:
    return {"input": {"text": text, "source": source}, "output": {"parts": [{"type": "text", "text": text}]}}


def test_a_command_in_the_prompt_is_replaced_by_its_output(example: Example) -> None:
    hook = example("inline_shell", replies=[{"text": "ok"}])
    hook.prompt("Compare !{echo one} with !{ printf two }, please")
    assert hook.sent == ["Compare \n$ echo one\none\n with \n$ printf two\ntwo\n, please"]


def test_a_failing_command_is_told_and_its_output_kept(example: Example) -> None:
    hook = example("inline_shell")
    done = hook.emit("chat.message", **message("!{echo bad; exit 3}"))
    assert "bad" in done.event.output.parts[0].text
    assert "failed" in hook.told[0]


@pytest.mark.parametrize("seam", ["\n\n<stdin>\n", "\n\n[Document: notes.txt]\n"])
def test_what_was_piped_in_or_attached_is_not_run(example: Example, seam: str) -> None:
    hook = example("inline_shell")
    done = hook.emit("chat.message", **message(f"read this !{{echo typed}}{seam}!{{touch ran}}"))
    text = done.event.output.parts[0].text
    assert "\ntyped\n" in text
    assert text.endswith("!{touch ran}")
    assert not (hook.work / "ran").exists()


@pytest.mark.parametrize("source", ["rpc", "acp", "hook:global:other"])
def test_only_what_a_person_typed_is_expanded(example: Example, source: str) -> None:
    hook = example("inline_shell")
    hook.emit("chat.message", **message("!{touch ran}", source))
    assert not (hook.work / "ran").exists()


def test_a_long_output_is_cut(example: Example) -> None:
    hook = example("inline_shell", settings={"most": 100})
    text = hook.emit("chat.message", **message("!{seq 1000}")).event.output.parts[0].text
    assert "[... cut ...]" in text
    assert len(text) < 200


def test_the_command_passes_the_gates(example: Example) -> None:
    hook = example("inline_shell")

    def gate(marvin):  # type: ignore[no-untyped-def]
        marvin.on("tool.execute.before", lambda event, ctx: {"block": True, "reason": "not that"})

    hook._wait(hook.scripted.engine.hooks.load_setup(gate, "gate", "library"))
    text = hook.emit("chat.message", **message("!{touch ran}")).event.output.parts[0].text
    assert "not that" in text
    assert not (hook.work / "ran").exists()
