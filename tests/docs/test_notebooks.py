"""Every notebook runs, and its stored outputs are those of the run. `make notebooks` stores them."""

from typing import Any

import nbformat
import pytest

from tools.notebooks import FOLDER, executed

PICTURE = "image/png"  # other versions of the fonts draw other pixels


def outputs(notebook: nbformat.NotebookNode) -> list[list[dict[str, Any]]]:
    """Returns the outputs of each cell, of a picture only that there is one."""
    found: list[list[dict[str, Any]]] = [
        [dict(one) for one in cell.get("outputs", [])] for cell in notebook.cells
    ]
    for one in (one for cell in found for one in cell if PICTURE in one.get("data", {})):
        one["data"] = {**one["data"], PICTURE: "a picture"}
    return found


@pytest.mark.parametrize("name", ["without-spark.ipynb"])
def test_outputs(name: str) -> None:
    stored, run = nbformat.read(FOLDER / name, as_version=4), executed(FOLDER / name)
    assert outputs(run) == outputs(stored)
    assert [cell.get("execution_count") for cell in run.cells] == [
        cell.get("execution_count") for cell in stored.cells
    ]
    assert any(outputs(stored))


def test_all_notebooks_are_tested() -> None:
    assert [path.name for path in FOLDER.glob("*.ipynb")] == ["without-spark.ipynb"]
