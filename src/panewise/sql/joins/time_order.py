"""EMIT ON WINDOW CLOSE over a join: its rows come in the order of their event times (semantics 46.181)."""

from dataclasses import replace

from panewise.spec import OverOperator
from panewise.spec.operators.join.match_parts import match_parts
from panewise.sql.event_times import JOIN_TIME, with_join_time
from panewise.sql.parsing.emit import FORMS, PLAIN
from panewise.sql.parsing.syntax import Emit
from panewise.sql.stages import JoinStage, OutputColumn, OverStage, QueryStage


def without_order(emit: Emit | None) -> Emit | None:
    """Returns EMIT of a join without the words for the order of event times, None without others.

    An EMIT that has other words than these and the lateness is returned as it is.
    """
    if emit is None:
        return None
    rest = tuple(phrase for phrase in emit.phrases if phrase.words not in PLAIN)
    if len(emit.phrases) - len(rest) != 1 or any(FORMS[phrase.words].part != "lateness" for phrase in rest):
        return emit
    return replace(emit, phrases=rest) if rest else None


def in_time_order(stage: QueryStage) -> OverStage | None:
    """Returns the rows of a join, each when the watermark has passed its event time.

    None for a window join, whose EMIT says when its windows fire, and for what is no join of ours.
    """
    if not isinstance(stage, JoinStage) or match_parts(stage.match).windows_end(stage.match):
        return None
    timed = with_join_time(stage)
    added = None if timed is stage else JOIN_TIME
    spec, every = OverOperator(event_time=JOIN_TIME), (OutputColumn("*", None, "*"),)
    return OverStage(timed, None, None, (), spec, every, added_time=added)
