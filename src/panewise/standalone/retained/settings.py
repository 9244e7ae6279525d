"""The settings of S1's window operators. A required setting that is missing is refused by its name."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Final, Literal, TypeAlias, get_args

from panewise.choices import check_flag, is_choice
from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spec import AfterProcessingTime, Always, Every
from panewise.spec.column_values import is_long
from panewise.spec.fields import is_count, is_whole
from panewise.stores.message_layout import KeyLayout, Measure, WindowScale, message_key_layout

FullSize: TypeAlias = Literal["past_end", "at_size"]
UpdatePolicy: TypeAlias = Always | Every | AfterProcessingTime
UpdatePolicyLike: TypeAlias = Literal["each"] | DurationLike | Every
_MISSING: Final[Any] = None


@dataclass(frozen=True, kw_only=True)
class AggregatorSettings:
    """The settings of a windowed aggregator.

    Args:
        measure: "time": windows have a length of event time. "tuple": they have a number of messages.
        size: the length of a window; a number of messages with `measure="tuple"`. With `session_key` the
            longest gap between two messages of a session, which belongs to it: a length of event time, or a
            number of messages with other session keys. As a length an int is in microseconds.
        advance: the distance of the starts of two windows, at most `size`. Not with `session_key`.
        retention_size: a window whose messages are all older than the last so many messages expires. Older
            means added earlier. With `measure="tuple"` and without `session_key` it is at least `size`.
        retention_time: a window expires when the watermark is this far after its end, or further. The
            watermark is the highest event time of all applied messages. A window expires only after all
            windows before it, by time and by number. An int is in microseconds.
        session_key: the column with the key of sessions. Default: None, windows have a fixed size.
        origin: an instant at which a window of time starts, in microseconds. Default: 0, 1970-01-01 UTC.
        time: the column of event times. Default: "event_time".
        early: when a window that is not full emits. None: never. "each": with each message. A period: at its
            next multiple of processing time. Or `Every(period, aligned=True, offset=...)`. Default: None.
            An int is in microseconds.
        full: when a window is full. "past_end": when a message beyond its end has been added. "at_size", for
            `measure="tuple"`: when its last message has been added. Default: "past_end".
        late: when a full window emits messages that came later: "each", or a period of processing time, from
            the first of these messages on. Default: "10 seconds". An int is in microseconds.
        message_store: whether messages are stored. Default: None, if the aggregates need them.

    Raises:
        SpecError: if a required setting is missing, or a setting breaks one of these rules.

    >>> AggregatorSettings(measure="time", size="1 minute", advance="1 minute", retention_size=1000)
    Traceback (most recent call last):
        ...
    panewise.errors.SpecError: retention_time is missing | a windowed aggregator needs measure, size, ...

    Source: S1 "Configuration of A Windowed Aggregator"; semantics 26 to 26.3.
    """

    _name: ClassVar[str] = "a windowed aggregator"
    _required: ClassVar[tuple[str, ...]] = ("measure", "size", "advance", "retention_size", "retention_time")
    is_join: ClassVar[bool] = False

    measure: Measure = _MISSING
    size: DurationLike | int = _MISSING
    advance: DurationLike | int | None = None
    retention_size: int = _MISSING
    retention_time: DurationLike = _MISSING
    session_key: str | None = None
    origin: int = 0
    time: str = "event_time"
    early: UpdatePolicyLike | None = None
    full: FullSize = "past_end"
    late: UpdatePolicyLike = "10 seconds"
    message_store: bool | None = None

    def __post_init__(self) -> None:
        for name in self._required:
            optional = name == "advance" and self.session_key is not None
            if getattr(self, name) is None and not optional:
                *most, last = self._required
                rule = f"{self._name} needs {', '.join(most)} and {last}"
                raise SpecError(f"{name} is missing", rule, f"give {name}=...")
        _one_of("measure", self.measure, ("time", "tuple"))
        _one_of("full", self.full, get_args(FullSize))
        if self.message_store is not None:
            check_flag("message_store", self.message_store)
        self._check_sizes()
        self._check_update_policies()

    @property
    def by_time(self) -> bool:
        """Whether windows have a length of event time."""
        return self.measure == "time"

    @property
    def length(self) -> int:
        """The size of a window in microseconds, or its number of messages."""
        return self._length("size", self.size)

    @property
    def step(self) -> int:
        """The distance of two starts, in the unit of the size."""
        assert self.advance is not None
        return self._length("advance", self.advance)

    @property
    def windows_per_message(self) -> int:
        """How many windows contain a message at most."""
        return 1 if self.session_key is not None else -(-self.length // self.step)

    @property
    def retained_us(self) -> int:
        """The retention by time in microseconds."""
        return Duration.of(self.retention_time, "retention_time").us

    @property
    def early_policy(self) -> UpdatePolicy | None:
        """When a window that is not full emits."""
        return None if self.early is None else _update_policy(self.early, "early")

    @property
    def late_policy(self) -> UpdatePolicy:
        """When a full window emits."""
        return _update_policy(self.late, "late")

    def layout(self) -> KeyLayout:
        """Returns the fields of the keys of messages."""
        return message_key_layout(self.measure, "aggregate")

    def to_json(self) -> dict[str, Any]:
        """Returns the settings that the stored windows depend on: a store is opened with the same ones."""
        plain = (self.measure, self.length, None if self.session_key else self.step, self.session_key)
        return {"windows": [*plain, self.origin, self.time, self.full], "layout": [*self.layout()]}

    def _length(self, name: str, value: Any) -> int:
        if self.by_time:
            length = Duration.of(value, name).us
        elif not is_whole(value):
            rule = f"with measure='tuple' the {name} is a number of messages"
            raise SpecError(f"{name}={value!r}", rule, "give a whole number")
        else:
            length = value
        least = 0 if self.session_key is not None and not self.by_time else 1
        if length < least:
            raise SpecError(f"{name}={value!r}", f"the {name} is {least} or more", f"give a larger {name}")
        return length

    def _check_sizes(self) -> None:
        length = self.length
        if self.session_key is not None and self.advance is not None:
            rule = "sessions begin with their first message, and do not advance"
            raise SpecError(
                f"advance={self.advance!r}, session_key={self.session_key!r}", rule, "leave it out"
            )
        if self.session_key is None and self.step > length:
            rule = "windows leave no gaps, so the advance is at most the size"
            raise SpecError(f"advance={self.advance!r}, size={self.size!r}", rule, "give a smaller advance")
        least = length if not self.by_time and self.session_key is None else 1
        if not is_count(self.retention_size, least):
            rule = f"retention_size is a number of messages, at least {least} for these windows"
            raise SpecError(f"retention_size={self.retention_size!r}", rule, f"give {least} or more")
        if self.retained_us < 0:
            fault = f"retention_time={self.retention_time!r}"
            raise SpecError(fault, "a retention is not negative", "give 0 or more")
        if not is_long(self.origin):
            rule = "an origin is a whole number of microseconds since 1970-01-01 UTC"
            raise SpecError(f"origin={self.origin!r}", rule, "give an int")
        if self.origin and (not self.by_time or self.session_key is not None):
            rule = "only windows of time with a fixed size have an origin"
            raise SpecError(f"origin={self.origin!r}", rule, "leave it out")

    def _check_update_policies(self) -> None:
        _ = self.early_policy, self.late_policy
        if self.full == "at_size" and (self.by_time or self.session_key is not None):
            rule = "only windows with a fixed number of messages are full at their last message"
            raise SpecError("full='at_size'", rule, "use full='past_end'")


@dataclass(frozen=True, kw_only=True)
class JoinWindowSettings(AggregatorSettings):
    """The settings of a join window operator: those of an aggregator, and the keys of its messages.

    Args:
        keyed_message_store: the columns that the join compares for equality. They become a part of the keys
            of messages (semantics 25). With `session_key` they include it. Default: None, the keys of
            messages have no such part.
        time_range_join: whether the condition of the join has a range of time. Default: False.
        window_scale: whether a window has few messages ("small"), or so many that a join should not read all
            of them ("large"). Default: "large".
        early: as for an aggregator. Default: "each".
        late: as for an aggregator. Default: "each".

    Raises:
        SpecError: if a required setting is missing, or a setting breaks one of the rules.

    >>> settings = JoinWindowSettings(
    ...     measure="time", size="2 minutes", advance="2 minutes", retention_size=1000,
    ...     retention_time="1 hour", keyed_message_store=("id",),
    ... )
    >>> settings.layout()
    ('equal_fields', 'timestamp', 'offset')

    Source: S1 "Configuration of A Join Window Operator"; semantics 26 to 26.3.
    """

    _name: ClassVar[str] = "a join window operator"
    is_join: ClassVar[bool] = True

    keyed_message_store: Sequence[str] | None = None
    time_range_join: bool = False
    window_scale: WindowScale = "large"
    early: UpdatePolicyLike | None = "each"
    late: UpdatePolicyLike = "each"

    def __post_init__(self) -> None:
        super().__post_init__()
        columns = () if self.keyed_message_store is None else self.keyed_message_store
        names = isinstance(columns, (tuple, list)) and all(isinstance(name, str) for name in columns)
        if not names or len(set(columns)) < len(columns):
            rule = "keyed_message_store names the columns that the join compares, each once"
            raise SpecError(
                f"keyed_message_store={columns!r}", rule, "give a tuple of names, or leave it out"
            )
        if self.keyed_message_store is not None and self.session_key not in (None, *columns):
            rule = "a join of sessions compares the session key, or it would read every session (S1)"
            given_both = f"session_key={self.session_key!r}, keyed_message_store={columns!r}"
            raise SpecError(given_both, rule, f"add {self.session_key!r}, or leave keyed_message_store out")
        check_flag("time_range_join", self.time_range_join)
        if self.time_range_join and not self.equal_fields:
            rule = "without equal fields a range of time changes no key of a message"
            raise SpecError(f"time_range_join=True, keyed_message_store={columns!r}", rule, "leave it out")
        if self.message_store is False:
            rule = "a join window operator stores its messages"
            raise SpecError("message_store=False", rule, "leave it out")
        self.layout()

    @property
    def equal_fields(self) -> Sequence[str]:
        """The columns of `keyed_message_store`; none if it is not given."""
        return tuple(self.keyed_message_store or ())

    def layout(self) -> KeyLayout:
        """Returns the fields of the keys of messages."""
        return message_key_layout(
            self.measure,
            "join",
            equal_join=bool(self.equal_fields),
            time_range_join=self.time_range_join,
            window_size=self.window_scale,
        )

    def to_json(self) -> dict[str, Any]:
        """Returns the settings that the stored windows depend on."""
        return {**super().to_json(), "join_keys": [*self.equal_fields]}


def _one_of(name: str, value: object, known: tuple[object, ...]) -> None:
    if not is_choice(value, known):
        raise SpecError(f"{name}={value!r}", f"{name} is one of {list(known)}", f"give {known[0]!r}")


def _update_policy(policy: object, name: Literal["early", "late"]) -> UpdatePolicy:
    """Returns an update policy. Periods are aligned for `early`, and begin with a message for `late`."""
    if is_choice(policy, ("each",)):
        return Always()
    if isinstance(policy, Every):
        if not policy.aligned:
            rule = "the periods of an update policy are aligned, or begin with the first message"
            raise SpecError(f"{name}={policy!r}", rule, "give aligned=True, or a length of time")
        return policy
    if isinstance(policy, bool) or not isinstance(policy, (str, int, timedelta, Duration)):
        rule = f"{name} is 'each', a period, or Every(period, aligned=True)"
        raise SpecError(f"{name}={policy!r}", rule, "give one of these")
    length = Duration.of(policy, name)
    if length.us <= 0:
        raise SpecError(f"{name}={policy!r}", "a period is above zero", "give a longer one, or 'each'")
    return Every(length, aligned=True) if name == "early" else AfterProcessingTime(length)
