"""Runs the notebooks in docs/notebooks and stores their outputs, which tests compare: `make notebooks`.

`NAME=joins` runs docs/notebooks/joins.ipynb alone.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "notebooks"


def executed(path: Path) -> nbformat.NotebookNode:
    """Returns the notebook with the outputs of a run from its first cell on, without times and versions.

    Its kernel runs in an empty folder. The outputs are without what the JVM writes to standard error.

    Raises:
        CellExecutionError: if a cell raises an error.
    """
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory(prefix="kernel-") as folder:
        client = NotebookClient(
            notebook,
            timeout=1200,  # a cell runs a query; the machine may be busy
            kernel_name="python3",
            record_timing=False,
            resources={"metadata": {"path": folder}},
        )
        client.km = AsyncKernelManager(transport="ipc", ip=f"{folder}/kernel", kernel_name="python3")
        client.execute()  # TCP would be open to other users of the machine
    notebook.metadata["language_info"] = {"name": "python"}  # the kernel adds the version of Python
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell["outputs"] = [
                _stored(output) for output in cell["outputs"] if output.get("name") != "stderr"
            ]
    return notebook


def _stored(output: Any) -> Any:
    """Returns an output without the second form of a picture, which would make the file twice as long."""
    if "image/svg+xml" in output.get("data", {}):
        output["data"].pop("text/html", None)
    return output


def main() -> int:
    """Runs the notebooks that are named, by default all of them, and writes them with their outputs."""
    for path in sorted(FOLDER.glob(f"{sys.argv[1] if sys.argv[1:] else '*'}.ipynb")):
        nbformat.write(executed(path), path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
