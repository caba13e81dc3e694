"""Servers that others wrote, from the environment that `make test-thirdparty` makes."""

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from server_key import KEY

HERE = Path(__file__).parent
PATIENCE = 120.0


@pytest.fixture(scope="session")
def environment() -> Path:
    place = os.environ.get("MARVIN_THIRDPARTY")
    if not place:
        pytest.fail("these tests need their environment: run `make test-thirdparty`")
    return Path(place)


@pytest.fixture(scope="session")
def llama(environment: Path) -> Iterator[str]:
    """The address of llama.cpp's server. Like the proxy it takes KEY."""
    weights = next(environment.glob("*.gguf"))
    command = [environment / "bin/python", HERE / "llama_server.py", weights, HERE / "tools.jinja", KEY]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    try:
        address = process.stdout.readline().decode().strip()
        assert address.startswith("http"), "llama.cpp's server did not start"
        yield address
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def litellm(environment: Path, llama: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a LiteLLM proxy in front of llama.cpp's server."""
    place = tmp_path_factory.mktemp("litellm")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    upstream = {"model": "openai/tiny", "api_base": f"{llama}/v1", "api_key": KEY}
    settings = {
        "model_list": [{"model_name": "tiny", "litellm_params": upstream}],
        "router_settings": {"disable_cooldowns": True, "num_retries": 0},
        "general_settings": {"master_key": KEY},
    }
    config = place / "config.yaml"
    config.write_text(json.dumps(settings))  # JSON is YAML
    command = [environment / "bin/litellm", "--config", config, "--host", "127.0.0.1", "--port", str(port)]
    # Without this it looks for a list of prices in the network.
    variables = {**os.environ, "HOME": str(place), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=variables)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(f"{address}/health/liveliness", process, place / "log")
        yield address
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"the proxy did not start:\n{log.read_text()[-2000:]}")
            time.sleep(0.2)
