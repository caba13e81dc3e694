"""Write the locked requirements: exact versions with hashes, without any index address."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = Path(sys.executable).with_name("uv")
LOCKS = {
    "run.lock": [],
    "demo.lock": ["--extra", "local", "--group", "build"],
    "dev.lock": ["--group", "dev"],
}
HEADER = "# Made by `make lock`: exact versions with hashes, for Python 3.11 and later.\n"


def main() -> int:
    for name, arguments in LOCKS.items():
        command = [str(UV), "pip", "compile", "pyproject.toml", *arguments, "--universal", "--python-version", "3.11"]
        command += ["--generate-hashes", "--no-emit-index-url", "--no-emit-find-links", "--no-annotate", "--no-header"]
        made = subprocess.run([*command, "--quiet"], cwd=ROOT, capture_output=True, text=True, check=False)
        if made.returncode:
            print(made.stderr, file=sys.stderr)
            return made.returncode
        (ROOT / "requirements" / name).write_text(HEADER + made.stdout)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
