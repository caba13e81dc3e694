import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_comparison_runs_its_tasks_and_makes_a_report(tmp_path):
    report = tmp_path / "report.md"
    options = ["--rounds", "1", "--calls", "2", "--tokens", "30", "--report", str(report)]
    command = [sys.executable, "-m", "benchmarks.compare", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    written = report.read_text()
    assert done.stdout.strip() == written.strip()
    for title in ("## say-10", "## tools-2", "## say-30"):
        assert title in written
    assert written.count("| marvin |") == written.count("| the floor |") == 3


def test_the_benchmark_of_events_runs():
    command = [sys.executable, "-m", "benchmarks.dispatch", "--rounds", "5"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    assert "ten async handlers" in done.stdout
    assert "in a process of its own" in done.stdout


def test_the_start_of_the_app_is_measured_beside_a_bare_one():
    command = [sys.executable, "-m", "benchmarks.tui_start", "--runs", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    assert "| bare Textual |" in done.stdout
    assert "| marvin " in done.stdout


def test_keys_are_timed_while_an_answer_streams():
    command = [sys.executable, "-m", "benchmarks.tui_keys", "--tokens", "1500"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    assert "1500 tokens streamed" in done.stdout
