"""Finds the windows in a stored state."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from panewise.engine.columns import END, KEY_WATERMARK, START, key_columns
from panewise.engine.family_parts import Inspection, TableReader
from panewise.engine.ingest.input_state import read_clocks
from panewise.engine.progress.clocks import Clocks
from panewise.engine.windowing import key_watermarks
from panewise.engine.windowing.sliding_bounds import Slide, coded, in_order
from panewise.engine.windows.sliding.completion import windows_to_complete
from panewise.engine.windows.sliding.slices import SLICES
from panewise.engine.windows.state import WINDOWS, WindowOperatorState
from panewise.spec import Global, Sliding, WindowOperator, counted
from panewise.spec.rules.sliding import fires_only_when_complete
from panewise.state.manifest import checked


def inspect(spec: WindowOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the stored windows."""
    clocks = read_clocks(checked(header, WindowOperatorState.FIELDS), Clocks.initial(spec))
    return stored_windows(spec, clocks, read)


def stored_windows(spec: WindowOperator, clocks: Clocks, read: TableReader) -> Inspection:
    """Returns the windows that are stored at these clocks.

    Sliding windows that fire only when they are complete are not stored before. They are computed from the
    slices.
    """
    keys, horizon = key_columns(spec.keys), clocks.horizon(spec)
    identity, watermarks = [*keys, START, END], [KEY_WATERMARK] if clocks.by_key else []
    unmade = isinstance(spec.window, Sliding) and fires_only_when_complete(spec.trigger)
    apart = keys if spec.keys or unmade else identity
    stored = read(WINDOWS, [*identity, *watermarks], identity, horizon, apart)
    windows = key_watermarks.without(stored) if clocks.by_key and stored.width else stored
    if unmade:
        sliced = read(SLICES, identity, identity, horizon, apart)
        windows = _with_unmade(spec, clocks, keys, windows, stored, sliced)
    in_time = not isinstance(spec.window, Global) and not counted(spec.window)
    return Inspection(clocks, windows, keys, in_time)


def _with_unmade(
    spec: WindowOperator,
    clocks: Clocks,
    keys: list[str],
    windows: pl.DataFrame,
    stored: pl.DataFrame,
    slices: pl.DataFrame,
) -> pl.DataFrame:
    """Returns the stored windows, and the windows of the slices that are made when they are complete."""
    if slices.is_empty():
        return windows
    assert isinstance(spec.window, Sliding)
    marked = slices
    if clocks.by_key:
        marked = key_watermarks.with_watermarks(slices, key_watermarks.watermarks_of(stored, keys), keys)
    rows = windows_to_complete(spec, Slide(spec.window, keys), in_order(*coded(keys, marked)), clocks)
    more = rows.select(*keys, START, END)
    return pl.concat([windows.select(more.columns), more]) if windows.width else more
