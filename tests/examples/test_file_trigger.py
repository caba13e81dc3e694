from examples.conftest import Example

FAST = {"seconds": 0.01}


def test_what_is_written_into_the_file_becomes_a_prompt(example: Example) -> None:
    hook = example("file_trigger", settings=FAST, replies=[{"text": "I see"}, {"text": "again"}])
    file = hook.work / ".marvin-prompt"
    for count, text in enumerate(("The build fails\n", "!rm -rf /"), 1):
        file.with_name("new").write_text(text)
        file.with_name("new").replace(file)
        hook.wait_until(lambda: len(hook.requests) == count)  # noqa: B023
        hook.wait_until(lambda: hook.scripted.engine.is_idle)
    assert hook.sent == ["The build fails", "!rm -rf /"]
    assert list(hook.work.iterdir()) == []


def test_an_empty_file_says_nothing(example: Example) -> None:
    hook = example("file_trigger", settings=FAST)
    (hook.work / ".marvin-prompt").write_text("  \n")
    hook.wait_until(lambda: not (hook.work / ".marvin-prompt").exists())
    assert hook.sent == []


def test_the_watching_ends_with_the_hook(example: Example) -> None:
    hook = example("file_trigger", settings={**FAST, "file": "other"})
    work = hook.work
    hook.close()
    (work / "other").write_text("too late")
    assert (work / "other").exists()
