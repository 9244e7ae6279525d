"""The step of a SELECT list in which every column has a name (semantics 46.3)."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as SF

from panewise.spark.columns.schemas import column_names
from panewise.spark.shuffle.reports import PROGRESS
from panewise.spec.conditions.text import in_backticks


@dataclass(frozen=True)
class Selection:
    """Selects columns of rows.

    Attributes:
        columns: the expressions, each with the name of its column.
    """

    columns: tuple[tuple[str, str], ...]

    def __call__(self, df: DataFrame) -> DataFrame:
        """Returns the rows with these columns. Reports pass as they are."""
        if PROGRESS not in column_names(df):
            # A text may end in a comment.
            return df.selectExpr(*(f"{text}\nAS {in_backticks(name)}" for text, name in self.columns))
        of_row = SF.col(PROGRESS).isNull()
        columns = (
            (SF.expr(text) if text.strip("`") == name else SF.when(of_row, SF.expr(text))).alias(name)
            for text, name in self.columns
        )
        return df.select(*columns, PROGRESS)

    @property
    def explicit(self) -> bool:
        """Whether no further column of the rows has an effect, as it might by `struct(*)`."""
        return not any("*" in text for text, _ in self.columns)

    def passes(self, name: str) -> bool:
        """Returns whether a column of the rows stays unchanged under its name."""
        return any(own == name and text.strip("`") == name for text, own in self.columns)

    def names_of(self, columns: Collection[str]) -> frozenset[str]:
        """Returns the names that the selection gives to these columns of the rows."""
        return frozenset(own for text, own in self.columns if text.strip("`") in columns)

    def only_reads(self, names: Collection[str]) -> bool:
        """Returns whether each column is one of these columns of the rows, perhaps under another name."""
        return all(_is_column(text, names) for text, _ in self.columns)


@dataclass(frozen=True)
class Sorted:
    """Sorts or limits the rows of a batch. They are then no longer in the order of emission."""

    step: Callable[[DataFrame], DataFrame]

    def __call__(self, df: DataFrame) -> DataFrame:
        """Returns the rows in another order, or some of them."""
        return self.step(df)


def _is_column(text: str, names: Collection[str]) -> bool:
    """Returns whether a text is the name of one of these columns, spelled in the same case."""
    return (text in names and text.isidentifier()) or (text[:1] == "`" and text in map(in_backticks, names))
