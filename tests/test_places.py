"""Where the files are."""

import os
import stat
from pathlib import Path

import pytest

from marvin_agent.errors import UsageError
from marvin_agent.places import expand_path, find_places, find_project_root, make_private_directory


def test_the_configuration_directory_is_the_option_the_variable_xdg_or_the_default(tmp_path: Path) -> None:
    home = str(tmp_path)
    everything = {"HOME": home, "MARVIN_CONFIG_DIR": "/named", "XDG_CONFIG_HOME": "/xdg"}

    def directory(environ: dict[str, str], option: str | None = None) -> str:
        return find_places(cwd=home, config_dir=option, environ=environ).config_dir

    assert directory(everything, "/option") == "/option"
    assert directory(everything) == "/named"
    assert directory({"HOME": home, "XDG_CONFIG_HOME": "/xdg"}) == "/xdg/marvin"
    assert directory({"HOME": home, "XDG_CONFIG_HOME": "relative"}) == f"{home}/.config/marvin"
    assert directory({"HOME": home, "XDG_CONFIG_HOME": ""}) == f"{home}/.config/marvin"
    assert directory({"HOME": home}) == f"{home}/.config/marvin"


def test_places_that_are_named_are_relative_to_the_working_directory_and_know_home(tmp_path: Path) -> None:
    environ = {"HOME": "/home/ada", "MARVIN_CONFIG_DIR": "~/mine"}
    places = find_places(cwd=str(tmp_path), environ=environ)
    assert places.config_dir == "/home/ada/mine"
    places = find_places(cwd=str(tmp_path), config_dir="here/../conf", config_file="~/c.json", environ=environ)
    assert places.config_dir == str(tmp_path / "conf")
    assert places.config_file == "/home/ada/c.json"
    assert places.config_file_named


def test_everything_else_is_inside_the_configuration_directory(tmp_path: Path) -> None:
    places = find_places(cwd=str(tmp_path), config_dir="/c", environ={"HOME": "/h"})
    assert not places.config_file_named
    assert [
        places.config_file,
        places.sessions_dir,
        places.data_dir,
        places.cache_dir,
        places.auth_file,
        places.models_file,
        places.trust_file,
        places.hooks_dir,
    ] == [
        f"/c/{name}"
        for name in ("config.json", "sessions", "data", "cache", "auth.json", "models.json", "trust.json", "hooks")
    ]


def test_asking_for_places_makes_nothing(tmp_path: Path) -> None:
    find_places(cwd=str(tmp_path), config_dir="conf", environ={"HOME": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("marker", [".marvin", ".git"])
def test_the_root_is_the_nearest_directory_with_marvin_or_git(tmp_path: Path, marker: str) -> None:
    (tmp_path / "outer" / ".git").mkdir(parents=True)
    inner = tmp_path / "outer" / "inner"
    (inner / marker).mkdir(parents=True)
    (inner / "a" / "b").mkdir(parents=True)
    places = find_places(cwd=str(inner / "a" / "b"), environ={"HOME": "/nowhere"})
    assert places.project_root == str(inner)
    assert places.project_config_file == str(inner / ".marvin" / "config.json")
    assert places.project_hooks_dir == str(inner / ".marvin" / "hooks")


def test_the_git_file_of_a_worktree_marks_a_root_too(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: elsewhere")
    (tmp_path / "src").mkdir()
    assert find_project_root(str(tmp_path / "src"), "/nowhere") == str(tmp_path)


def test_without_a_marker_the_working_directory_is_the_root(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert find_project_root(str(tmp_path / "a" / "b"), "/nowhere") == str(tmp_path / "a" / "b")


def test_dotfiles_in_home_do_not_make_all_of_it_one_project(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "code").mkdir()
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path)
    for home in (tmp_path, link):
        assert find_project_root(str(tmp_path / "code"), str(home)) == str(tmp_path / "code")
    assert find_project_root(str(tmp_path), str(tmp_path)) == str(tmp_path)


def test_a_directory_that_all_can_write_to_does_not_speak_for_what_is_in_it(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / ".marvin").mkdir(parents=True)
    (shared / "mine" / "src").mkdir(parents=True)
    shared.chmod(0o1777)
    assert find_project_root(str(shared / "mine" / "src"), "/nowhere") == str(shared / "mine" / "src")
    assert find_project_root(str(shared), "/nowhere") == str(shared)
    shared.chmod(0o755)
    assert find_project_root(str(shared / "mine" / "src"), "/nowhere") == str(shared)


def test_a_deleted_working_directory_is_a_usage_error(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    before = os.getcwd()
    os.chdir(gone)
    try:
        gone.rmdir()
        with pytest.raises(UsageError, match="does not exist any more"):
            find_places(environ={"HOME": str(tmp_path)})
    finally:
        os.chdir(before)


def test_private_directories_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_private_directory(str(tmp_path / "a" / "b"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700
    make_private_directory(str(tmp_path / "a" / "b"))
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError):
        make_private_directory(str(tmp_path / "file"))


def test_a_path_in_a_configuration_is_relative_to_its_directory(tmp_path: Path) -> None:
    assert expand_path("hooks/../x.py", "/base", {"HOME": "/h"}) == "/base/x.py"
    assert expand_path("~/x.py", "/base", {"HOME": "/h"}) == "/h/x.py"
    assert expand_path("/abs/x.py", "/base", {"HOME": "/h"}) == "/abs/x.py"
