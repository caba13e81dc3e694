from pathlib import Path

import pytest

from tools.fakes import FakeContext


@pytest.fixture
def ctx(tmp_path: Path) -> FakeContext:
    work = tmp_path / "work"
    work.mkdir()
    return FakeContext(work)
