"""Runs the notebooks in docs/notebooks and stores their outputs, which a test compares: `make notebooks`."""

import sys
import tempfile
from pathlib import Path

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "notebooks"


def executed(path: Path) -> nbformat.NotebookNode:
    """Returns the notebook with the outputs of a run from its first cell on, without times and versions.

    Raises:
        CellExecutionError: if a cell raises an error.
    """
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=60,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(FOLDER)}},
    )
    with tempfile.TemporaryDirectory(prefix="kernel-") as sockets:
        client.km = AsyncKernelManager(transport="ipc", ip=f"{sockets}/kernel", kernel_name="python3")
        client.execute()  # TCP would be open to other users of the machine
    notebook.metadata["language_info"] = {"name": "python"}  # the kernel adds the version of Python
    return notebook


def main() -> int:
    """Runs every notebook, and writes it with its outputs."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        nbformat.write(executed(path), path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
