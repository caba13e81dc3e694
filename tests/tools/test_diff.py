import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marvin_agent.tools import diff
from marvin_agent.tools.truncate import split

texts = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "e", "\n", "f\r\n"]), max_size=14).map("".join)


@given(texts, texts)
def test_the_changes_lead_from_one_text_to_the_other(old: str, new: str) -> None:
    before, after = split(old), split(new)
    rebuilt: list[str] = []
    at = 0
    for a, a_end, b, b_end in diff.changes(before, after):
        assert at <= a
        assert before[a:a_end] != after[b:b_end]
        rebuilt += before[at:a]
        assert len(rebuilt) == b
        rebuilt += after[b:b_end]
        at = a_end
    assert rebuilt + before[at:] == after


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(texts, texts)
def test_patch_understands_the_diff(tmp_path: Path, old: str, new: str) -> None:
    text = diff.unified(old, new, "file")
    assert bool(text) == (old != new)
    if not text or not new:
        return
    file = tmp_path / "file"
    file.write_bytes(old.encode())
    command = ["patch", "--binary", "-s", "-u", str(file)]
    subprocess.run(command, input=text.encode(), check=True, stdout=subprocess.DEVNULL)
    assert file.read_bytes() == new.encode()


def test_changes_far_apart_have_hunks_of_their_own() -> None:
    old = "".join(f"{n}\n" for n in range(40))
    text = diff.unified(old, old.replace("\n5\n", "\nfive\n").replace("\n30\n", "\n"), "n")
    assert [line for line in text.split("\n") if line.startswith("@@")] == ["@@ -3,7 +3,7 @@", "@@ -28,7 +28,6 @@"]
    assert diff.first_line(old, old.replace("\n5\n", "\nfive\n")) == 6
    assert diff.first_line(old, old) is None


def test_a_missing_newline_at_the_end_is_told() -> None:
    assert diff.unified("a\n", "a", "n").endswith("-a\n+a\n\\ No newline at end of file\n")


def test_a_new_file_and_an_emptied_one_have_the_usual_ranges() -> None:
    assert "@@ -0,0 +1 @@" in diff.unified("", "a\n", "n")
    assert "@@ -1,2 +0,0 @@" in diff.unified("a\nb\n", "", "n")


def test_long_texts_are_compared_in_reasonable_time() -> None:
    old = "".join(f"line {n % 700}\n" for n in range(100_000))
    new = "".join(f"line {n % 701}\n" for n in range(100_000))
    begin = time.process_time()
    text = diff.unified(old, new, "n")
    assert len(text) < 200_000
    assert text.endswith(" more lines\n")
    assert time.process_time() - begin < 5
