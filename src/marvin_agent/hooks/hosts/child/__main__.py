"""Started by path with any Python: makes `marvin_agent` importable from where this file is, and nothing beside it.

The directory that holds the package may be another environment's `site-packages`, so it does not get on `sys.path`.
"""

import importlib
import importlib.util
import os
import sys

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def run() -> None:
    """Import the package from here and hand over."""
    spec = importlib.util.spec_from_file_location(
        "marvin_agent", os.path.join(PACKAGE, "__init__.py"), submodule_search_locations=[PACKAGE]
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["marvin_agent"] = module
    spec.loader.exec_module(module)
    importlib.import_module("marvin_agent.hooks.hosts.child.run").main()


if __name__ == "__main__":
    run()
