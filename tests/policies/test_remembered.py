"""Answers that were given for good: by project, however it is reached, and none lost when several come at once."""

import threading
from pathlib import Path

from marvin_agent.permission_rules import parse_rule
from marvin_agent.policies.permissions.remembered import Remembered


def test_a_project_that_is_reached_through_a_link_is_the_same(tmp_path: Path) -> None:
    project, link = tmp_path / "project", tmp_path / "link"
    project.mkdir()
    link.symlink_to(project)
    remembered = Remembered(str(tmp_path / "config"))
    remembered.add(str(link), [parse_rule("bash(make *)")])
    assert [str(rule) for rule in remembered.rules(str(project))] == ["bash(make *)"]
    assert remembered.forget(str(link)) == 1
    assert remembered.all() == {}


def test_of_answers_that_are_given_at_once_none_is_lost(tmp_path: Path) -> None:
    ready = threading.Barrier(4)

    def answer(number: int) -> None:
        ready.wait()
        for count in range(10):
            Remembered(str(tmp_path)).add("/project", [parse_rule(f"bash(echo {number} {count})")])

    threads = [threading.Thread(target=answer, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Remembered(str(tmp_path)).rules("/project")) == 40
