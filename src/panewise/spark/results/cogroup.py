"""The outputs of cogroups."""

from dataclasses import dataclass

from panewise.spark.results.panes_of_sides import PanesOfSides
from panewise.spec import CogroupOperator


@dataclass(frozen=True, repr=False)
class CogroupResult(PanesOfSides):
    """The outputs of a cogroup.

    Each of the DataFrames is a query of its own. `write` writes several outputs from one query.
    """

    spec: CogroupOperator
