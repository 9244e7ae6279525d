"""The picture of delays and cancellations, from hand-made frames."""

import polars as pl
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from panewise.demo.join import picture


@pytest.fixture
def figure() -> Figure:
    wind = pl.DataFrame(
        {"name": ["calm", "wild"], "flights": [1200, 3], "mean_delay": [10.0, 25.0], "cancelled": [1.0, 4.0]}
    )
    rain = pl.DataFrame(
        {"name": ["wet"], "flights": [2], "mean_delay": [None], "cancelled": [100.0]},
        schema_overrides={"mean_delay": pl.Float64},
    )
    return picture.draw("weather", [picture.Panel("wind", wind), picture.Panel("rain", rain)])


def test_delays_are_above_cancellations(figure: Figure) -> None:
    bars = ([patch for patch in axes.patches if isinstance(patch, Rectangle)] for axes in figure.axes)
    assert [[bar.get_height() for bar in of] for of in bars] == [[10.0, 25.0], [0.0], [1.0, 4.0], [100.0]]


def test_classes_are_named_with_their_flights(figure: Figure) -> None:
    below = [axes for axes in figure.axes if axes.get_xlabel()]
    assert [axes.get_xlabel() for axes in below] == ["wind, flights", "rain, flights"]
    labels = [[label.get_text() for label in axes.get_xticklabels()] for axes in below]
    assert labels == [["calm\n1,200", "wild\n3"], ["wet\n2"]]
