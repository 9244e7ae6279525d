"""The measured costs of operators, which `python -m bench.size --write` stores in costs.json."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).parent / "costs.json"


@dataclass(frozen=True)
class OperatorCosts:
    """The costs of one operator.

    Attributes:
        row_core_seconds: processor time of a row, in Spark's JVM and in Python together.
        changed_core_seconds: processor time of an entry that a micro-batch changes.
        window_core_seconds: processor time of each window of a row after the first one.
        entry_bytes: stored bytes of an entry, with a key of 8 bytes.
        written: bytes that a micro-batch writes to the checkpoint, for each byte of the entries that it
            changes.
        row_bytes: memory that a worker needs for a row of a micro-batch.
    """

    row_core_seconds: float
    changed_core_seconds: float
    window_core_seconds: float
    entry_bytes: float
    written: float
    row_bytes: float


@dataclass(frozen=True)
class Costs:
    """All costs.

    Attributes:
        measured: when and on which machine, by name.
        shard_core_seconds: processor time of a micro-batch for each shard, however few rows it has.
        worker_bytes: memory of a worker with next to no rows and no state.
        operators: the costs of each operator.
    """

    measured: Mapping[str, Any]
    shard_core_seconds: float
    worker_bytes: float
    operators: Mapping[str, OperatorCosts]


@cache
def costs() -> Costs:
    """Returns the costs that the package contains."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    operators = {name: OperatorCosts(**values) for name, values in data.pop("operators").items()}
    return Costs(**data, operators=operators)
