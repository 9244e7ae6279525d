"""What a join does with the rows of its sides depends on its match. A method is this part of a join."""

from collections.abc import Iterator, Mapping
from typing import Protocol

import polars as pl

from panewise.engine.join.batch.join_batch import JoinBatch
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.two_sides import JoinState
from panewise.engine.tables.stored_table import StoredTable


class Method(Protocol):
    """Matches, stores and emits the rows of a join.

    If the match has a state of its own, states and clocks are those of this state.
    """

    def tables(self) -> dict[str, StoredTable]:
        """Returns the empty tables by name. Their order is that of their numbers on disk."""

    def table_horizons(self, clocks: JoinClocks) -> Mapping[str, int | None]:
        """Returns the horizon of each table at these clocks."""

    def add(self, state: JoinState, batch: JoinBatch) -> tuple[Iterator[pl.DataFrame], JoinState]:
        """Joins the applied rows of a batch. Returns what is emitted, and the state after the batch.

        What is emitted comes in one or more pieces, of which the first is empty only if all are. They are
        made when they are requested, from the tables before the batch. The state has the clocks of the batch,
        and tables that are not expired yet.
        """

    def advance(self, state: JoinState, clocks: JoinClocks) -> tuple[pl.DataFrame, JoinState]:
        """Moves the clocks of the state. Returns what is emitted, and the state after the move."""

    def furthest_behind(self) -> int | None:
        """Returns how far `join_time` of an emitted row may lie behind the lower horizon; None: any."""

    def next_due(self, state: JoinState) -> int | None:
        """Returns a watermark at or before the first one at which something is emitted; None: nothing is."""
