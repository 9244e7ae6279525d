"""bench.guard: the comparison of the present code with a commit."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from bench import guard
from bench.guard import Comparison, Sample, alternate, compared


def sample(*processor: float, wall: float = 1.0) -> Sample:
    return Sample(list(processor), [wall])


def test_the_medians_of_the_processor_time_are_compared() -> None:
    (comparison,) = compared({"shape": sample(1.0, 9.0, 2.0)}, {"shape": sample(2.2, 2.0, 8.0, wall=1.5)})
    assert comparison.change == pytest.approx(10)
    assert comparison.line(7.0).endswith("+50.0 %  slower")
    assert "slower" not in comparison.line(11.0)


def test_without_processor_times_the_wall_decides() -> None:
    (comparison,) = compared({"shape": sample(wall=2.0)}, {"shape": sample(wall=1.0)})
    assert comparison == Comparison("shape", 2.0, 1.0, -50.0)


def test_spark_s_own_operator_is_never_slower() -> None:
    assert Comparison("Spark, tumbling", 1.0, 1.1, 10.0).is_slower(7.0)
    assert not Comparison("native, tumbling", 1.0, 1.1, 10.0).is_slower(7.0)


def test_the_runs_alternate_and_begin_with_either_side(monkeypatch: pytest.MonkeyPatch) -> None:
    order = list[str]()

    def run(source: Path, spark: Sequence[str]) -> guard.Seconds:
        order.append("now" if source == guard.ROOT else source.name)
        return {"shape": (1.0, 1.0)}

    monkeypatch.setattr(guard, "run", run)
    comparisons = alternate({"first": Path("a"), "second": Path("b")}, 2, [])
    assert {commit: [of.change for of in shapes] for commit, shapes in comparisons.items()} == {
        "first": [0.0],
        "second": [0.0],
    }
    assert order == ["a", "b", "now", "now", "b", "a"]
