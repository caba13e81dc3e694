"""The `marvin` command: `python -m marvin_agent` is the same."""

import sys


def main() -> int:
    sys.stdout.write("marvin\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
