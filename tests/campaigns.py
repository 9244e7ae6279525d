"""Divides a long run of tests into parts, and counts the rounds that it has played.

`pytest --part 3/8` runs the third of eight parts. The tests of a function stay together in their order,
because neighbours use the same runs without faults. The seed of the rounds is a setting of the environment.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar
from zlib import crc32

import pytest

# What rounds draw depends on this number and on that of the round.
SEED: Final = int(os.environ.get("PANEWISE_SEED", "0"))
T = TypeVar("T")


def seed_of(number: int) -> int:
    """Returns the seed of a round. With the default, 0, it is the number of the round."""
    return SEED * 1_000_000 + number


def part_of(groups: Iterable[tuple[str, Sequence[T]]], number: int, count: int) -> Iterator[T]:
    """Yields what is in one of several parts: of each group about the same number, side by side.

    The name of a group decides with which part it begins. So groups of one are spread over the parts.

    >>> groups = [("a", [1, 2, 3, 4]), ("b", [5])]
    >>> [list(part_of(groups, number, 2)) for number in (1, 2)]
    [[3, 4], [1, 2, 5]]
    """
    for name, members in groups:
        first = crc32(name.encode())
        for place, member in enumerate(members):
            if (place * count // len(members) + first) % count == number - 1:
                yield member


@dataclass(eq=False)
class Parts:
    """The plugin of pytest: selects the part, and says at the end what was played.

    Args:
        text: the part, such as "3/8".
    """

    text: str
    _sums: dict[str, int] = field(default_factory=dict)

    def pytest_report_header(self) -> str:
        """Returns the part and the seed, by which a run can be repeated."""
        return f"part {self.text}, PANEWISE_SEED={SEED}"

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselects the tests of other parts. The markers have selected before."""
        number, count = map(int, self.text.split("/"))
        if not 1 <= number <= count:
            raise pytest.UsageError(f"--part {self.text}: a part has a number from 1 to {count}")
        by_function: dict[str, list[pytest.Item]] = {}
        for item in items:
            by_function.setdefault(item.nodeid.partition("[")[0], []).append(item)
        selected = {id(item) for item in part_of(by_function.items(), number, count)}
        if len(selected) < len(items):
            config.hook.pytest_deselected(items=[item for item in items if id(item) not in selected])
            items[:] = [item for item in items if id(item) in selected]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Adds the numbers that a test has recorded, of rounds and of kills."""
        if report.when == "call":
            for name, value in report.user_properties:
                if isinstance(value, int):
                    self._sums[name] = self._sums.get(name, 0) + value

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Writes the sums of these numbers."""
        if self._sums:
            sums = ", ".join(f"{number:,} {name}" for name, number in sorted(self._sums.items()))
            terminalreporter.write_line(f"part {self.text}, PANEWISE_SEED={SEED}: {sums}")
