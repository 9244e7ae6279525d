"""Every notebook runs, and its stored outputs are those of the run. `make notebooks` stores them."""

import ast
from typing import Any

import nbformat
import pytest

from tools.notebooks import FOLDER, executed

PICTURE = "image/png"  # other versions of the fonts draw other pixels
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
ON_SPARK = {"first-window", "joins", "late-data"}


def stored(name: str) -> nbformat.NotebookNode:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def outputs(notebook: nbformat.NotebookNode) -> list[list[dict[str, Any]]]:
    """Returns the outputs of each cell, of a picture of pixels only that there is one."""
    of_cells: list[list[dict[str, Any]]] = [
        [dict(output) for output in cell.get("outputs", [])] for cell in notebook.cells
    ]
    for output in (output for of_cell in of_cells for output in of_cell if PICTURE in output.get("data", {})):
        output["data"] = {**output["data"], PICTURE: "a picture"}
    return of_cells


@pytest.mark.parametrize("name", NAMES)
def test_it_is_well_formed(name: str) -> None:
    """Its code compiles, was run from the first cell to the last, and has raised no error."""
    notebook = stored(name)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in cells:
        ast.parse("\n".join(line for line in cell.source.splitlines() if not line.startswith("%")))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    results = [output for of_cell in outputs(notebook) for output in of_cell]
    assert results
    assert {output["output_type"] for output in results} <= {"execute_result", "display_data", "stream"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.nightly, pytest.mark.spark] if name in ON_SPARK else ())
        for name in NAMES
    ],
)
def test_outputs(name: str) -> None:
    """They are those of a fresh kernel."""
    run = executed(FOLDER / f"{name}.ipynb")
    assert outputs(run) == outputs(stored(name))


def test_pages_lead_to_each_notebook() -> None:
    page = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"({name}.ipynb)" not in page] == []
