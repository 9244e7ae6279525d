"""A process that imports a state into a store, and exports it again, until it is killed.

Arguments: the file to import, the directory of the store, the file to write. It prints a line before each
write.
"""

import sys

from bench.export import SCHEMA, SPEC
from panewise.standalone import Callbacks, StandaloneOperator
from panewise.state.export_file import ExportWriter
from tests.killing import tell


def main() -> None:
    """Imports, and exports."""
    file, store, out = sys.argv[1:]
    add = ExportWriter.add

    def told(self: ExportWriter, operator: int, shard: int, name: str, data: bytes) -> None:
        tell("entry")
        add(self, operator, shard, name, data)

    ExportWriter.add = told  # type: ignore[method-assign]
    with StandaloneOperator(
        SPEC, dict(SCHEMA), initial_state=file, store=store, callbacks=Callbacks(write=tell)
    ) as operator:
        tell("imported")
        operator.export_state(out, replace=True)
    tell("exported")


if __name__ == "__main__":
    main()
