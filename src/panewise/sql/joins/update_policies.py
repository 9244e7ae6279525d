"""EMIT of a join: when its rows are released, and the allowed lateness of its sides (semantics 46.25)."""

from dataclasses import dataclass

from panewise.chrono import Duration, DurationLike
from panewise.spec import Always, Every
from panewise.sql.parsing.emit import CHANGES, FORMS
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import Emit, Join, Phrase

_RULE = "the rows of a join come as soon as they are known; only a window join waits for its windows"
_UPDATE = "the rows of a join are released by EMIT EVERY interval, or with their batch by EMIT CHANGES"


@dataclass(frozen=True)
class UpdateSyntax:
    """The update policy of a join: the period of processing time, None to release each row with its batch."""

    period: Duration | None
    lateness: Duration | None


def lateness_of(emit: Emit | None, parser: QueryParser) -> Duration | None:
    """Returns the allowed lateness that EMIT of a join says, None if it says none.

    Raises:
        SqlError: if it is unlimited.
    """
    for phrase in () if emit is None else emit.phrases:
        if FORMS[phrase.words].part != "lateness":
            continue
        if not isinstance(phrase.value, Duration):
            rule = "the sides of a join have a limited lateness"
            raise parser.fail("WITH LATENESS UNLIMITED", rule, "write an interval", phrase.span)
        return phrase.value
    return None


def update_of(
    join: Join, emit: Emit | None, parser: QueryParser, update: DurationLike | None
) -> UpdateSyntax | None:
    """Returns the update policy of a join, None if it has none.

    Args:
        join: the join.
        emit: its EMIT clause.
        parser: the parser, for errors.
        update: a period or "each", for a text that says none.

    Raises:
        SqlError: for an EMIT that a join does not have.
    """
    is_updated = join.last is not None and join.last.kind in ("rows", "range")
    lateness = lateness_of(emit, parser)
    updates = [phrase for phrase in emit.phrases if FORMS[phrase.words].part != "lateness"] if emit else []
    if not is_updated and {phrase.words for phrase in updates} <= CHANGES:
        return None
    if emit is not None and (len(updates) > 1 or (updates and not is_updated)):
        rule = _UPDATE if is_updated else _RULE
        remedy = "leave it out, or write EMIT ON WINDOW CLOSE or EMIT WITH LATENESS"
        raise parser.fail("EMIT", rule, remedy, emit.span)
    if updates:
        return UpdateSyntax(_period(updates[0], parser), lateness)
    if update is None or not is_updated:
        return None
    with parser.placing(join.span):
        return UpdateSyntax(None if update == "each" else Duration.of(update, "update"), lateness)


def _period(phrase: Phrase, parser: QueryParser) -> Duration | None:
    """Returns the period of a part of EMIT, None if it releases each row with its batch."""
    form = FORMS[phrase.words]
    if form.value is Every and isinstance(phrase.value, Duration):
        return phrase.value
    if form.value == "changes" or (form.part == "early" and isinstance(form.value, Always)):
        return None
    raise parser.fail(" ".join(phrase.words), _UPDATE, "write one of these", phrase.span)
