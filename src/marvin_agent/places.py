"""Where marvin's files are: the configuration directory, what is kept in it, and the root of the project.

The configuration directory is, in this order, what `--config-dir` says, `MARVIN_CONFIG_DIR`, `$XDG_CONFIG_HOME/marvin`,
`~/.config/marvin`. Everything else that marvin keeps is inside it, for its owner alone.

The root of a project is the nearest directory, from the working directory upwards, that holds `.marvin` or `.git`. The
walk ends below the home directory, since a repository of dotfiles does not make all of a home one project (and
`~/.marvin` would speak for every project in it), and below a directory that everybody can write to, such as `/tmp`,
since what others put there is not the user's. The working directory itself always counts, and is the root when nothing
is found.
"""

import os
import stat
from collections.abc import Mapping

import msgspec

from marvin_agent.errors import UsageError

PROJECT_DIRECTORY = ".marvin"


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """The places on disk of one run, all absolute. Nothing is made by asking for it."""

    config_dir: str
    config_file: str
    config_file_named: bool = False
    """True when the user named the file: then it must exist."""
    cwd: str
    project_root: str

    @property
    def auth_file(self) -> str:
        return os.path.join(self.config_dir, "auth.json")

    @property
    def models_file(self) -> str:
        return os.path.join(self.config_dir, "models.json")

    @property
    def trust_file(self) -> str:
        return os.path.join(self.config_dir, "trust.json")

    @property
    def hooks_dir(self) -> str:
        return os.path.join(self.config_dir, "hooks")

    @property
    def sessions_dir(self) -> str:
        """Where sessions are unless the configuration says otherwise (`Config.sessions.dir`)."""
        return os.path.join(self.config_dir, "sessions")

    @property
    def data_dir(self) -> str:
        """What marvin fetched and would have to fetch again: model weights, catalogues."""
        return os.path.join(self.config_dir, "data")

    @property
    def cache_dir(self) -> str:
        """What may be deleted at any time."""
        return os.path.join(self.config_dir, "cache")

    @property
    def project_dir(self) -> str:
        """`.marvin` of the project; it need not exist."""
        return os.path.join(self.project_root, PROJECT_DIRECTORY)

    @property
    def project_config_file(self) -> str:
        return os.path.join(self.project_dir, "config.json")

    @property
    def project_hooks_dir(self) -> str:
        return os.path.join(self.project_dir, "hooks")


def find_places(
    *,
    cwd: str | None = None,
    config_dir: str | None = None,
    config_file: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Places:
    """The places for a working directory and the options `--config-dir` and `--config`."""
    cwd = os.path.abspath(cwd) if cwd is not None else working_directory()
    home = home_directory(environ)
    directory = os.path.join(cwd, _expand(config_dir, home)) if config_dir else _default_config_dir(cwd, home, environ)
    directory = os.path.normpath(directory)
    if config_file:
        file = os.path.normpath(os.path.join(cwd, _expand(config_file, home)))
    else:
        file = os.path.join(directory, "config.json")
    return Places(
        config_dir=directory,
        config_file=file,
        config_file_named=bool(config_file),
        cwd=cwd,
        project_root=find_project_root(cwd, home),
    )


def find_project_root(cwd: str, home: str) -> str:
    """The root of the project that a directory belongs to; the module's docstring has the rule."""
    directory = cwd
    # A home that is a link (/home to /usr/home) must end the walk too.
    real_home = os.path.realpath(home)
    while True:
        if any(os.path.exists(os.path.join(directory, name)) for name in (PROJECT_DIRECTORY, ".git")):
            return directory
        parent = os.path.dirname(directory)
        if parent == directory or os.path.realpath(parent) == real_home or _writable_by_all(parent):
            return cwd
        directory = parent


def working_directory() -> str:
    """The working directory. UsageError when it was deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise UsageError("the working directory does not exist any more", hint="Change to another one.") from None


def home_directory(environ: Mapping[str, str] = os.environ) -> str:
    return environ.get("HOME") or os.path.expanduser("~")


def expand_path(path: str, base: str, environ: Mapping[str, str] = os.environ) -> str:
    """A path as written in a configuration: `~` is the home directory, relative to `base`."""
    return os.path.normpath(os.path.join(base, _expand(path, home_directory(environ))))


def make_private_directory(path: str) -> None:
    """Make a directory and what is missing above it, each for its owner alone (0700), whatever the umask."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    if parent != path:
        make_private_directory(parent)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
    else:
        os.chmod(path, 0o700)


def _default_config_dir(cwd: str, home: str, environ: Mapping[str, str]) -> str:
    if named := environ.get("MARVIN_CONFIG_DIR"):
        return os.path.join(cwd, _expand(named, home))
    base = environ.get("XDG_CONFIG_HOME", "")
    # The XDG specification: a relative path is invalid and to be ignored.
    return os.path.join(base if os.path.isabs(base) else os.path.join(home, ".config"), "marvin")


def _expand(path: str, home: str) -> str:
    if path == "~" or path.startswith("~/"):
        return home + path[1:]
    return os.path.expanduser(path)


def _writable_by_all(directory: str) -> bool:
    try:
        return bool(os.stat(directory).st_mode & stat.S_IWOTH)
    except OSError:
        return True
