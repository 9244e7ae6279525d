"""Every rule of the parts of a specification: a case that obeys it, one that breaks it, the whole message.

The parts are windows, evictors, positions, aggregates and simple triggers.
"""

import copy
from datetime import UTC, datetime
from functools import partial
from typing import Any
from zoneinfo import ZoneInfoNotFoundError

import pytest

from panewise import (
    AfterCount,
    AfterWatermark,
    Aggregate,
    Calendar,
    CountEvictor,
    Cumulating,
    Custom,
    DeltaEvictor,
    Duration,
    Every,
    Global,
    Hopping,
    Position,
    Session,
    SpecError,
    TimeEvictor,
    Tumbling,
    UserAggregate,
    WindowOperator,
    rows,
)
from panewise import functions as F
from panewise.spec.aggregates.aggregate import FUNCTIONS
from panewise.spec.windows.kinds import WEEKDAYS
from tests.spec.cases import Rule, check

INSTANT = (
    "an instant is exact and has a time zone | give a datetime with a time zone, or an int of "
    "microseconds since 1970-01-01 UTC"
)
UNITS = "a duration is a sum of whole numbers of units, from weeks to microseconds"
EXACT = (
    "give '90 seconds', '1 hour 30 minutes', 'PT1H30M', a timedelta, a Duration, or an int of microseconds"
)
NO_LENGTH = (
    "months, quarters and years have no exact length | give a number of days, or use windows of a Calendar"
)

ONE_ROW = "an evictor keeps one row or more | give n=1 or more"
THRESHOLD = (
    "a threshold is a number above zero, or a duration: with zero the last row itself would "
    "be evicted | give one such as 0.5 or '1 second'"
)
ZONE = (
    "a zone is one of the IANA time zone database | give a name such as 'Europe/Berlin'; if it is a "
    "new one, update the machine's tzdata"
)
COLUMNS = (
    "the columns of a window function have different names; the event time is always passed, as event_time"
)


def nothing() -> None:
    return None


user = partial(UserAggregate, "mine", init=nothing, accumulate=nothing, merge=nothing, finish=nothing)


def fold(initial: Any) -> UserAggregate:
    return UserAggregate.fold("f", initial, lambda s, v: s + v, combine=lambda a, b: a + b, result="string")


RULES = {
    "an evictor keeps a row": Rule(lambda: CountEvictor(1), lambda: CountEvictor(0), f"n=0 | {ONE_ROW}"),
    "an evictor counts": Rule(lambda: CountEvictor(1), lambda: CountEvictor(True), f"n=True | {ONE_ROW}"),
    "an evictor's duration is above zero": Rule(
        lambda: TimeEvictor(1),
        lambda: TimeEvictor(0),
        "duration=0 | duration is above zero | give a duration such as '1 minute'",
    ),
    "a threshold is above zero": Rule(
        lambda: DeltaEvictor("v", 0.5), lambda: DeltaEvictor("v", 0), f"threshold=0 | {THRESHOLD}"
    ),
    "a threshold is a number": Rule(
        lambda: DeltaEvictor("v", "1 second"),
        lambda: DeltaEvictor("v", float("inf")),
        f"threshold=inf | {THRESHOLD}",
    ),
    "an evictor's column": Rule(
        lambda: DeltaEvictor("v", 1),
        lambda: DeltaEvictor("", 1),
        "column='' | an evictor reads a column by its name | give a non-empty string",
    ),
    "before or after": Rule(
        lambda: TimeEvictor(1, after=True),
        lambda: TimeEvictor(1, after=2),  # type: ignore[arg-type]
        "after=2 | after is True or False | give one of these",
    ),
    "size above zero": Rule(
        lambda: Tumbling(1),
        lambda: Tumbling(0),
        "size=0 | size is above zero | give a size such as '1 minute'",
    ),
    "size below zero": Rule(
        lambda: Tumbling("1 us"),
        lambda: Tumbling(Duration(-1)),
        "size=Duration('-1 microsecond') | size is above zero | give a size such as '1 minute'",
    ),
    "hop above zero": Rule(
        lambda: Hopping(2, 1),
        lambda: Hopping(2, 0),
        "hop=0 | hop is above zero | give a hop such as '1 minute'",
    ),
    "step above zero": Rule(
        lambda: Cumulating(2, 1),
        lambda: Cumulating(2, 0),
        "step=0 | step is above zero | give a step such as '1 minute'",
    ),
    "gap above zero": Rule(
        lambda: Session(1), lambda: Session(0), "gap=0 | gap is above zero | give a gap such as '1 minute'"
    ),
    "a gap is a duration or a column": Rule(
        lambda: Session("timeout"),
        lambda: Session("-1 minute"),
        f"gap='-1 minute' | {UNITS} | {EXACT}",
    ),
    "period above zero": Rule(
        lambda: Every(1),
        lambda: Every(0),
        "period=0 | period is above zero | give a period such as '1 minute'",
    ),
    "only_when_full is a flag": Rule(
        lambda: Hopping(rows(4), rows(2), only_when_full=True),
        lambda: Hopping(rows(4), rows(2), only_when_full=1),  # type: ignore[arg-type]
        "only_when_full=1 | only_when_full is True or False | give one of these",
    ),
    "windows of time are never full": Rule(
        lambda: Hopping(4, 2),
        lambda: Hopping(4, 2, only_when_full=True),
        (
            "only_when_full=True, size=4 microseconds | a window of time may contain any number "
            "of rows, and is never full | leave only_when_full out, or give sizes in rows"
        ),
    ),
    "a session is closed at its start or at both ends": Rule(
        lambda: Session(2, closed="both"),
        lambda: Session(2, closed="right"),  # type: ignore[arg-type]
        "closed='right' | a session is closed at its start, or at both ends | give 'left' or 'both'",
    ),
    "closed sessions do not touch": Rule(
        lambda: Session("gap", closed="both"),
        lambda: Session("gap", touching="merge", closed="both"),
        (
            "closed='both', touching='merge' | with closed='both' sessions that share an instant "
            "are merged, and no others touch | leave touching out"
        ),
    ),
    "sessions of rows are not closed": Rule(
        lambda: Session(rows(2)),
        lambda: Session(rows(2), closed="both"),
        (
            "gap=rows(2), closed='both' | a session of rows does not contain the row that ends "
            "it | leave closed out; to include that row, give rows(3)"
        ),
    ),
    "aligned is a flag": Rule(
        lambda: Every(2, aligned=True),
        lambda: Every(2, aligned=1),  # type: ignore[arg-type]
        "aligned=1 | aligned is True or False | give aligned=True for boundaries since 1970",
    ),
    "an offset shifts aligned periods": Rule(
        lambda: Every(2, aligned=True, offset=1),
        lambda: Every(2, offset=1),
        "offset=1, aligned=False | an offset shifts the boundaries of aligned periods; unaligned ones "
        "are counted from the last firing "
        "| give aligned=True, or leave offset out",
    ),
    "an offset is shorter than its period": Rule(
        lambda: Every("1 min", aligned=True, offset="59 s"),
        lambda: Every("1 min", aligned=True, offset="1 min"),
        (
            "offset='1 min', period='1 min' | an offset is 0 or more and less than the period | "
            "give the remainder of its division by the period"
        ),
    ),
    "duration is exact": Rule(
        lambda: Tumbling(2), lambda: Tumbling(1.5), f"size=1.5 | a duration is exact | {EXACT}"
    ),
    "duration has no months": Rule(
        lambda: Tumbling("2 weeks"),
        lambda: Tumbling("1 month"),
        f"size='1 month' | {NO_LENGTH}",
    ),
    "an ISO duration has no months": Rule(
        lambda: Session("PT5M"), lambda: Session("P5M"), f"gap='P5M' | {NO_LENGTH}"
    ),
    "an ISO duration has no years": Rule(
        lambda: Tumbling("P1W2D"), lambda: Tumbling("P1YT1H"), f"size='P1YT1H' | {NO_LENGTH}"
    ),
    "an ISO duration is whole": Rule(
        lambda: Tumbling("PT0.000001S"),
        lambda: Tumbling("PT0.0000001S"),
        f"size='PT0.0000001S' | {UNITS} | {EXACT}",
    ),
    "an ISO duration is in order": Rule(
        lambda: Session("PT1H5M"),
        lambda: Session("PT5M1H"),
        f"gap='PT5M1H' | {UNITS} | {EXACT}",
    ),
    "an ISO duration has no sign": Rule(
        lambda: Session("PT5M"),
        lambda: Session("-PT5M"),
        f"gap='-PT5M' | {UNITS} | {EXACT}",
    ),
    "duration is not empty": Rule(
        lambda: Tumbling("1s"), lambda: Tumbling(""), f"size='' | a duration is not empty | {EXACT}"
    ),
    "duration is not blank": Rule(
        lambda: Tumbling("1 s"), lambda: Tumbling("  "), f"size='  ' | a duration is not empty | {EXACT}"
    ),
    "a position's columns have names": Rule(
        lambda: Position("p", "o", "s"),
        lambda: Position("p", ""),
        (
            "Position('p', '') | a position is read from different columns, named by non-empty "
            "strings | give the columns' names"
        ),
    ),
    "a position's columns differ": Rule(
        lambda: Position("p", "o"),
        lambda: Position("p", "o", "p"),
        (
            "Position('p', 'o', 'p') | a position is read from different columns, named by "
            "non-empty strings | give the columns' names"
        ),
    ),
    "positions are ordered or not": Rule(
        lambda: Position(ordered=False),
        lambda: Position(ordered="no"),  # type: ignore[arg-type]
        "ordered='no' | ordered is True or False | give one of these",
    ),
    "ordered positions have no intervals": Rule(
        lambda: Position(ordered=False, remember=5),
        lambda: Position(remember=5),
        (
            "Position(remember=5) | of ordered positions only the highest offset is stored, and "
            "no intervals | give ordered=False, or leave remember out"
        ),
    ),
    "an interval is remembered at least": Rule(
        lambda: Position(ordered=False, remember=1),
        lambda: Position(ordered=False, remember=0),
        "remember=0 | the number of intervals is a whole number above zero | give 1 or more",
    ),
    "duration has 64 bits": Rule(
        lambda: Tumbling(2**63 - 1),
        lambda: Tumbling(2**63),
        f"us={2**63} | a duration fits in 64 bits | give a shorter duration",
    ),
    "origin has a zone": Rule(
        lambda: Tumbling(1, datetime(1969, 1, 1, tzinfo=UTC)),
        lambda: Tumbling(1, datetime(1969, 1, 1)),  # noqa: DTZ001 - the mistake
        f"origin=datetime.datetime(1969, 1, 1, 0, 0) | {INSTANT}",
    ),
    "origin has 64 bits": Rule(
        lambda: Tumbling(1, -(2**63)), lambda: Tumbling(1, 2**63), f"origin={2**63} | {INSTANT}"
    ),
    "gaps are asked for": Rule(
        lambda: Hopping(2, 3, gaps=True),
        lambda: Hopping(2, 3),
        (
            "size=2 microseconds, hop=3 microseconds, gaps=False | hop > size requires "
            "gaps=True; otherwise leave gaps=False | give a smaller hop, or change gaps"
        ),
    ),
    "no gaps are asked for in vain": Rule(
        lambda: Hopping(2, 2),
        lambda: Hopping(2, 2, gaps=True),
        (
            "size=2 microseconds, hop=2 microseconds, gaps=True | hop > size requires gaps=True; "
            "otherwise leave gaps=False | give a smaller hop, or change gaps"
        ),
    ),
    "step divides size": Rule(
        lambda: Cumulating(6, 3),
        lambda: Cumulating(6, 4),
        "size=6 microseconds, step=4 microseconds | size is a multiple of step | give a step that "
        "divides size",
    ),
    "a unit is known": Rule(
        lambda: Calendar("quarter"),
        lambda: Calendar("hour"),  # type: ignore[arg-type]
        "unit='hour' | unit is one of ('day', 'week', 'month', 'quarter', 'year') | give one of these",
    ),
    "units are counted": Rule(
        lambda: Calendar("day", 10**30),
        lambda: Calendar("day", 0),
        "n=0 | a window is a whole number of units above zero | give n=1 or more",
    ),
    "units are counted by no bool": Rule(
        lambda: Calendar("day", 1),
        lambda: Calendar("day", True),
        "n=True | a window is a whole number of units above zero | give n=1 or more",
    ),
    "weeks start on a known day": Rule(
        lambda: Calendar("week", week_start="sunday"),
        lambda: Calendar("week", week_start="Sunday"),  # type: ignore[arg-type]
        f"week_start='Sunday' | week_start is one of {WEEKDAYS} | give one of these",
    ),
    "only weeks start on a day of the week": Rule(
        lambda: Calendar("week", week_start="sunday"),
        lambda: Calendar("month", week_start="sunday"),
        "unit='month', week_start='sunday' | week_start belongs to weeks | leave week_start out",
    ),
    "a zone is known": Rule(
        lambda: Calendar("day", zone="America/St_Johns"),
        lambda: Calendar("day", zone="Mars/Olympus"),
        f"zone='Mars/Olympus' | {ZONE}",
    ),
    "a zone is no folder": Rule(
        lambda: Calendar("day", zone="Asia/Kolkata"),
        lambda: Calendar("day", zone="Asia"),
        f"zone='Asia' | {ZONE}",
    ),
    "a zone has no leap seconds": Rule(
        lambda: Calendar("day", zone="Etc/UTC"),
        lambda: Calendar("day", zone="right/UTC"),
        f"zone='right/UTC' | {ZONE}",
    ),
    "a zone is a name": Rule(
        lambda: Calendar("day"),
        lambda: Calendar("day", zone=None),  # type: ignore[arg-type]
        f"zone=None | {ZONE}",
    ),
    "a window function is one": Rule(
        lambda: Custom(len, name="f"),
        lambda: Custom("len", name="f"),  # type: ignore[arg-type]
        ("function='len' | a custom window is given by a function | give a function of a polars.DataFrame"),
    ),
    "a window function of rows is one": Rule(
        lambda: Custom.each(len, name="f"),
        lambda: Custom.each(None, name="f"),  # type: ignore[arg-type]
        "function=None | a custom window is given by a function | give a function of a dict",
    ),
    "a window function has a name": Rule(
        lambda: Custom(len, name="f"),
        lambda: Custom(len, name=""),
        "name='' | a custom window has a name | give a non-empty string",
    ),
    "a window function's columns are several": Rule(
        lambda: Custom(len, name="f", columns=["c"]),
        lambda: Custom(len, name="f", columns="c"),
        f"columns='c' | {COLUMNS} | give a list: columns=[...]",
    ),
    "a window function's columns differ": Rule(
        lambda: Custom(len, name="f", columns=["c", "d"]),
        lambda: Custom(len, name="f", columns=["c", "c"]),
        f"columns=['c', 'c'] | {COLUMNS} | give other columns' names, each once",
    ),
    "a window function has the event time anyway": Rule(
        lambda: Custom(len, name="f", columns=["t"]),
        lambda: Custom(len, name="f", columns=["event_time"]),
        f"columns=['event_time'] | {COLUMNS} | give other columns' names, each once",
    ),
    "a function's windows are merged or not": Rule(
        lambda: Custom(len, name="f", merge="touching"),
        lambda: Custom(len, name="f", merge=1),  # type: ignore[arg-type]
        (
            "merge=1 | windows are not merged, merged if they overlap, or also merged if they "
            "touch | give False, True or 'touching'"
        ),
    ),
    "touching": Rule(
        lambda: Session(1, "merge"),
        lambda: Session(1, "join"),  # type: ignore[arg-type]
        "touching='join' | touching sessions are separate or merged | give 'separate' or 'merge'",
    ),
    "a count is above zero": Rule(
        lambda: AfterCount(1),
        lambda: AfterCount(0),
        "n=0 | a count is a whole number above zero | give n=1 or more",
    ),
    "a count is whole": Rule(
        lambda: AfterCount(2),
        lambda: AfterCount(2.0),  # type: ignore[arg-type]
        "n=2.0 | a count is a whole number above zero | give n=1 or more",
    ),
    "a count is no bool": Rule(
        lambda: AfterCount(1),
        lambda: AfterCount(True),
        "n=True | a count is a whole number above zero | give n=1 or more",
    ),
    "functions are known": Rule(
        lambda: Aggregate("sum", "v", "a"),
        lambda: Aggregate("kurtosis", "v", "a"),
        f"fn='kurtosis' | an aggregate is one of {sorted(FUNCTIONS)} | use a function of panewise.functions",
    ),
    "only count takes no column": Rule(
        lambda: Aggregate("count", None, "a"),
        lambda: Aggregate("sum", None, "a"),
        "fn='sum', column=None | only count takes no column | give a column's name",
    ),
    "an alias is a name": Rule(
        lambda: F.sum("v").alias("a"),
        lambda: F.sum("v").alias(""),
        "name='' | an alias is a column name | give a non-empty string",
    ),
    "a column is a name": Rule(
        lambda: F.sum("a b"),
        lambda: F.sum(" v"),
        "column=' v' | an aggregate reads a column | give its name, or a column of pyspark.sql.functions",
    ),
    "ignorenulls belongs to first and last": Rule(
        lambda: Aggregate("last", "v", "a", ignorenulls=True),
        lambda: Aggregate("sum", "v", "a", ignorenulls=True),
        "sum(ignorenulls=True) | ignorenulls belongs to ['first', 'last'] | leave ignorenulls out",
    ),
    "percentage belongs to percentile": Rule(
        lambda: Aggregate("percentile", "v", "a", percentage=0.5),
        lambda: Aggregate("median", "v", "a", percentage=0.5),
        "median(percentage=0.5) | percentage belongs to ['percentile'] | leave percentage out",
    ),
    "rsd belongs to approx_count_distinct": Rule(
        lambda: Aggregate("approx_count_distinct", "v", "a", rsd=0.1),
        lambda: Aggregate("count", "v", "a", rsd=0.1),
        "count(rsd=0.1) | rsd belongs to ['approx_count_distinct'] | leave rsd out",
    ),
    "by belongs to rankings": Rule(
        lambda: Aggregate("max_by", "v", "a", by="b"),
        lambda: Aggregate("max", "v", "a", by="b"),
        "max(by='b') | by belongs to ['max_by', 'min_by', 'top_n_by'] | leave by out",
    ),
    "by is a column": Rule(
        lambda: F.max_by("v", "b"),
        lambda: F.max_by("v", ""),
        "column='' | an aggregate reads a column | give its name, or a column of pyspark.sql.functions",
    ),
    "by is given": Rule(
        lambda: F.min_by("v", "b"),
        lambda: Aggregate("min_by", "v", "a"),
        "min_by(by=None) | min_by ranks rows by a column | give by=, the name of a column",
    ),
    "n belongs to the first of a ranking": Rule(
        lambda: F.top_n("v", 2),
        lambda: Aggregate("collect_list", "v", "a", n=2),
        "collect_list(n=2) | n belongs to ['top_n', 'top_n_by'] | leave n out",
    ),
    "n is given": Rule(
        lambda: F.top_n_by("v", "b", 1),
        lambda: Aggregate("top_n_by", "v", "a", by="b", ascending=True),
        "top_n_by(n=None) | top_n_by takes a whole number of values, one or more | give n=1 or more",
    ),
    "n is one or more": Rule(
        lambda: F.top_n("v", 1),
        lambda: F.top_n("v", 0),
        "top_n(n=0) | top_n takes a whole number of values, one or more | give n=1 or more",
    ),
    "n is no bool": Rule(
        lambda: F.top_n("v", 1),
        lambda: F.top_n("v", True),
        "top_n(n=True) | top_n takes a whole number of values, one or more | give n=1 or more",
    ),
    "k is one or more": Rule(
        lambda: F.max_by("v", "b", 1),
        lambda: F.max_by("v", "b", 0),
        "top_n_by(n=0) | top_n_by takes a whole number of values, one or more | give n=1 or more",
    ),
    "ascending belongs to what is sorted": Rule(
        lambda: F.sort_list("v", ascending=False),
        lambda: Aggregate("max", "v", "a", ascending=False),
        "max(ascending=False) | ascending belongs to ['sort_list', 'top_n', 'top_n_by'] | leave "
        "ascending out",
    ),
    "ascending is a bool": Rule(
        lambda: F.sort_list("v"),
        lambda: F.sort_list("v", ascending="desc"),  # type: ignore[arg-type]
        "sort_list(ascending='desc') | ascending is True or False | give one of these",
    ),
    "distinct belongs to top_n_by": Rule(
        lambda: F.top_n_by("v", "b", 1, distinct=True),
        lambda: Aggregate("top_n", "v", "a", n=1, ascending=True, distinct=True),
        "top_n(distinct=True) | distinct belongs to ['top_n_by'] | leave distinct out",
    ),
    "distinct is a bool": Rule(
        lambda: F.top_n_by("v", "b", 1, distinct=False),
        lambda: F.top_n_by("v", "b", 1, distinct="page"),  # type: ignore[arg-type]
        "top_n_by(distinct='page') | distinct is True or False | give one of these",
    ),
    "a reducing function is a function": Rule(
        lambda: UserAggregate.reduce("r", nothing),
        lambda: UserAggregate.reduce("r", "+"),  # type: ignore[arg-type]
        "fn='+' | fn is a function | give a function as fn",
    ),
    "a fold is combined": Rule(
        lambda: fold(0),
        lambda: UserAggregate.fold("f", 0, nothing),
        (
            "fold('f') without combine | a window contains rows of several batches, and each "
            "batch is folded separately | give combine=, a function of two states, the earlier "
            "first"
        ),
    ),
    "a fold begins with JSON": Rule(
        lambda: fold([]),
        lambda: fold({1}),
        "fold('f', initial={1}) | a state is a JSON value | use numbers, strings, lists and dicts with "
        "string keys",
    ),
    "a fold begins with what JSON gives back": Rule(
        lambda: fold([]),
        lambda: fold((1, 2)),
        "fold('f', initial=(1, 2)) | a state is a JSON value | use numbers, strings, lists and dicts "
        "with string keys",
    ),
    "a fold begins with nothing": Rule(
        lambda: fold(""),
        lambda: fold(100),
        (
            "fold('f', initial=100): combined with itself it gives 200 | initial is the state "
            "without rows: combining it with a state changes nothing | give such a value, for "
            "example 0 for a sum"
        ),
    ),
    "a folding function is a function": Rule(
        lambda: fold(0),
        lambda: UserAggregate.fold("f", 0, None, combine=nothing),  # type: ignore[arg-type]
        "fn=None | fn is a function | give a function as fn",
    ),
    "user belongs to user": Rule(
        lambda: Aggregate("user", "v", "a", user=user()),
        lambda: Aggregate("sum", "v", "a", user=user()),
        "sum(user=UserAggregate(name='mine', result='double', commutative=False)) | user belongs to "
        "['user'] | leave user out",
    ),
    "user is given": Rule(
        lambda: user()("v"),
        lambda: Aggregate("user", "v", "a"),
        "fn='user', user=None | a user-defined aggregate has a UserAggregate | call a UserAggregate "
        "with a column",
    ),
    "a percentage is at most 1": Rule(
        lambda: F.percentile("v", 1.0),
        lambda: F.percentile("v", 1.1),
        "percentage=1.1 | percentage is a number in [0, 1.0] | give one in [0, 1.0]",
    ),
    "a percentage is at least 0": Rule(
        lambda: F.percentile("v", 0),
        lambda: F.percentile("v", -0.1),
        "percentage=-0.1 | percentage is a number in [0, 1.0] | give one in [0, 1.0]",
    ),
    "a percentage is a number": Rule(
        lambda: F.percentile("v", 0.5),
        lambda: F.percentile("v", "0.5"),  # type: ignore[arg-type]
        "percentage='0.5' | percentage is a number in [0, 1.0] | give one in [0, 1.0]",
    ),
    "an rsd is above 0": Rule(
        lambda: F.approx_count_distinct("v", 0.001),
        lambda: F.approx_count_distinct("v", 0),
        "rsd=0 | rsd is a number in (0, 0.4] | give one in (0, 0.4]",
    ),
    "an rsd is at most 0.4": Rule(
        lambda: F.approx_count_distinct("v", 0.4),
        lambda: F.approx_count_distinct("v", 0.5),
        "rsd=0.5 | rsd is a number in (0, 0.4] | give one in (0, 0.4]",
    ),
    "a result is of a known type": Rule(
        lambda: user(result="string"),
        lambda: user(result="array"),
        "result='array' | the result of a user-defined aggregate is bigint, double, string or boolean, "
        "or a list of these "
        "| give one of these, or such as 'array<bigint>'",
    ),
    "merge is a function": Rule(
        user,
        lambda: user(merge=5),
        "merge=5 | merge is a function | give a function as merge",  # type: ignore[arg-type]
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    check(RULES[name])


def test_a_machine_without_a_time_zone_database(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str) -> None:
        raise ZoneInfoNotFoundError(name)

    monkeypatch.setattr("panewise.chrono.ZoneInfo", nowhere)
    with pytest.raises(SpecError) as caught:
        Calendar("day", zone="Europe/Berlin")
    rule = "zones are looked up in a time zone database, and this machine has none"
    assert str(caught.value) == f"zone='Europe/Berlin' | {rule} | install one: pip install tzdata"


@pytest.mark.parametrize("part", ["init", "accumulate", "merge", "finish"])
def test_the_parts_of_a_user_defined_aggregate_are_functions(part: str) -> None:
    check(
        Rule(
            user,
            lambda: user(**{part: None}),
            f"{part}=None | {part} is a function | give a function as {part}",
        )
    )  # type: ignore[arg-type]


def test_parts_are_values() -> None:
    assert Hopping("2 s", "1 s") == Hopping(2_000_000, 1_000_000, datetime(1970, 1, 1, tzinfo=UTC))
    assert Global() == Global()
    assert AfterWatermark(early=Every("1 s")) == AfterWatermark(early=Every(1_000_000))
    assert (
        len(
            {
                Session(1),
                Session(1, "merge"),
                Session(1, "separate"),
                Session("a"),
                Tumbling(1),
                Cumulating(1, 1),
            }
        )
        == 5
    )
    assert F.mean("v") == F.avg("v") != F.avg("w")


@pytest.mark.parametrize(
    ("aggregate", "name"),
    [
        (F.count(), "count(*)"),
        (F.count("v"), "count(v)"),
        (F.percentile("v", 0.9), "percentile(v, 0.9)"),
        (F.first("v", True), "first(v)"),
        (user()("v"), "mine(v)"),
        (F.max_by("v", "b"), "max_by(v, b)"),
        (F.max_by("v", "b", 3), "top_n_by(v, b, 3)"),
        (F.top_n("v", 3, ascending=True), "top_n(v, 3)"),
        (F.sort_list("v"), "sort_list(v)"),
    ],
)
def test_names_of_aggregates(aggregate: Aggregate, name: str) -> None:
    assert aggregate.name == name
    assert aggregate.alias("other").name == "other"


@pytest.mark.parametrize(
    ("alias", "named"),
    [
        ("mean", "avg"),
        ("std", "stddev"),
        ("stddev_samp", "stddev"),
        ("var_samp", "variance"),
        ("array_agg", "collect_list"),
        ("any_value", "first"),
        ("every", "bool_and"),
        ("some", "bool_or"),
    ],
)
def test_other_names_of_pyspark(alias: str, named: str) -> None:
    assert getattr(F, alias)("v") == getattr(F, named)("v")


def test_a_ranking_reads_two_columns() -> None:
    assert F.max_by("v", "b").columns == ("v", "b")
    assert F.count().columns == ()
    spec = WindowOperator(window=Global(), aggregates=[F.top_n_by("v", "b", 1), F.max("c")])
    assert spec.columns_read == ("event_time", "v", "b", "c")


def test_a_fold_shares_no_initial_value() -> None:
    initial: list[int] = []
    collected = UserAggregate.fold(
        "f", initial, lambda s, v: [*s, v], combine=lambda a, b: a + b, result="array<bigint>"
    )
    initial.append(1)
    collected.init().append(2)
    assert collected.init() == []


def test_names_that_a_stream_does_not_have_are_not_there_and_say_why() -> None:
    assert not hasattr(F, "expr")
    assert not hasattr(F, "nothing_at_all")
    with pytest.raises(
        AttributeError, match=r"^panewise.functions.expr \| columns and expressions come from pyspark"
    ):
        F.expr  # noqa: B018


def test_a_filter_names_what_it_makes_null() -> None:
    """semantics 24.17: the column that a filter makes null is `by` for `max_by`; `count()` is `count_if`."""
    assert F.count().filter("flag") == Aggregate("count_if", "flag", "count(*) FILTER (WHERE flag)")
    made = F.max_by("v", "t").filter("flag")
    assert (made.column, made.by) == ("v", "CASE WHEN flag THEN t END")
    assert copy.copy(made.by) == made.by


def test_several_columns_are_counted_as_one() -> None:
    """semantics 24.18: `count_distinct` of several columns reads one column of their combinations."""
    assert F.count_distinct("a", "`b.c`").column == "a, b.c"
    assert F.count_distinct("a", "b").name == "count_distinct(a, b)"
