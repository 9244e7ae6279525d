"""As-of matches: the row in force at a time, or the next or nearest one (semantics 37). Values only."""

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from panewise.choices import check_choice
from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spec.fields import set_fields

STRATEGIES: Final = ("backward", "forward", "nearest")


@dataclass(frozen=True, init=False)
class AsOf:
    """The right row that was in force at the time of the left row, or the next or nearest one.

    Args:
        strategy: "backward" (the latest right row at or before the left one), "forward" (the earliest one at
            or after it) or "nearest" (the one with the least distance; of two the earlier one). Default:
            "backward".
        tolerance: the largest distance between both rows, 0 or more, included. Default: no limit. Then a left
            row of "forward" or "nearest" waits until its partner is known, or the right input ends. So left
            rows of "forward" without a later right row of their key, and of "nearest" without any, stay
            stored. An int is in microseconds.
        allow_exact_matches: whether a right row at the time of the left row matches it. Default: True.

    Raises:
        SpecError: for another strategy, a negative tolerance, an `allow_exact_matches` that is no bool, and a
            tolerance of 0 without exact matches.

    >>> AsOf(tolerance="1 hour")
    AsOf(strategy='backward', tolerance=Duration('1 hour'), allow_exact_matches=True)

    Source: semantics 37.2, 37.22, 37.23; Flink FOR SYSTEM_TIME AS OF, Polars join_asof.
    """

    kind: ClassVar[str] = "as_of"
    strategy: Literal["backward", "forward", "nearest"]
    tolerance: Duration | None
    allow_exact_matches: bool

    def __init__(
        self,
        strategy: Literal["backward", "forward", "nearest"] = "backward",
        tolerance: DurationLike | None = None,
        *,
        allow_exact_matches: bool = True,
    ) -> None:
        distance = None if tolerance is None else Duration.of(tolerance, "tolerance")
        set_fields(self, strategy=strategy, tolerance=distance, allow_exact_matches=allow_exact_matches)
        check_choice("strategy", strategy, STRATEGIES)
        if distance is not None and distance.us < 0:
            raise SpecError(f"tolerance={tolerance!r}", "a tolerance is not negative", "give 0 or more")
        exact: Any = allow_exact_matches
        if not isinstance(exact, bool):
            rule = "whether rows of equal time match is True or False"
            raise SpecError(f"allow_exact_matches={exact!r}", rule, "give one of these")
        if not exact and distance is not None and distance.us == 0:
            rule = "within a tolerance of 0 there are only rows of equal time"
            raise SpecError(f"{self!r}", rule, "give a tolerance above 0, or leave allow_exact_matches out")

    @property
    def waits_for_partner(self) -> bool:
        """Whether a left row waits until its partner is known, however long that takes (semantics 37.23)."""
        return self.tolerance is None and self.strategy != "backward"

    @property
    def waits(self) -> int:
        """How far after its event time a left row waits for right rows at least, in microseconds.

        -1 if only right rows before it can match.
        """
        if self.strategy == "backward":
            return 0 if self.allow_exact_matches else -1
        return 0 if self.tolerance is None else self.tolerance.us

    @property
    def reach(self) -> tuple[int | None, int | None]:
        """How far its last right row can lie after a left row, and its last left row after a right row.

        None: any distance. A row that is "forward" of a left row at the same time is needed as long as one
        that matches it.
        """
        far = None if self.tolerance is None else self.tolerance.us
        return far if self.waits_for_partner else self.waits, 0 if self.strategy == "forward" else far
