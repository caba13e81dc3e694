"""The `marvin` command; `python -m marvin_agent` is the same."""

from marvin_agent.frontends.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
