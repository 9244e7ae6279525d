"""The check that the last row of a key is its result, for sinks that replace rows (semantics 49.4)."""

from collections.abc import Collection

from panewise.errors import SpecError
from panewise.spark.sinks.base import SinkOutput
from panewise.spec import parts


def check_results(fault: str, output: SinkOutput, key: Collection[str], otherwise: str) -> None:
    """Refuses outputs in which the last row of a key need not be the result of the key.

    Args:
        fault: what the error shows.
        key: the columns by which the sink replaces rows.
        otherwise: what else the remedy names, such as another mode of the sink.
    """
    partial = parts(output.spec).partial_results(output.spec)
    if partial is not None:
        problem, rule, remedy = partial
        raise SpecError(f"{fault}, {problem}", f"{rule} (semantics 49.4)", f"{remedy}, or {otherwise}")
    if output.sequence is None:
        rule = "sorted rows are not in the order in which they were emitted (semantics 49.1)"
        raise SpecError(f"{fault}, ORDER BY or LIMIT", rule, f"leave that out, or use {otherwise}")
    replacing = parts(output.spec).replaces_rows(output.spec)
    if output.computed and replacing is not None:
        rule = "a row that a condition leaves out does not replace the row before it (semantics 49.4)"
        raise SpecError(f"{fault}, {replacing} and a condition", rule, f"use 'retracting', or {otherwise}")
    if output.op is None and parts(output.spec).emits_again(output.spec) is not None:
        rule = "without the column op a retraction is taken for a result (semantics 49.4)"
        raise SpecError(f"{fault}, rows without op", rule, f"select op, too, or use {otherwise}")
    if any(names.isdisjoint(key) for names in output.keys):
        rule = "only rows with the same keys of the operator have an order (semantics 49.1, 49.4)"
        raise SpecError(
            f"{fault}, key={list(key)!r}", rule, f"add all keys of the operator to it, or {otherwise}"
        )
