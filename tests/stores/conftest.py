from pathlib import Path

import pytest


@pytest.fixture(params=["memory", "durable"])
def directory(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    """Returns None for a store in memory, or the directory of a durable one."""
    return tmp_path / "store" if request.param == "durable" else None
