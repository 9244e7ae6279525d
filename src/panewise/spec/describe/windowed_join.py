"""Describes windows over joins in words."""

from panewise.spec.describe import chain, windows
from panewise.spec.describe.join import describe as describe_join
from panewise.spec.describe.listing import listed
from panewise.spec.operators.chain import Chain
from panewise.spec.operators.join.columns import LEFT
from panewise.spec.operators.windowed_join import WindowedJoin

_OF_ROWS = ("Late rows:", "Invalid rows:", "Shards:")  # paragraphs that do not apply to windows over a join


def describe(spec: WindowedJoin) -> str:
    """Returns the description of the join, then that of the windows over its rows, and of the shards."""
    over = chain.describe(spec.windows) if isinstance(spec.windows, Chain) else windows.describe(spec.windows)
    then = "Then: windows over the emitted rows, whose watermark is the output watermark of the join."
    return "\n".join([describe_join(spec.join), then, *_without(over, _OF_ROWS), _sharing(spec)])


def _without(text: str, begins: tuple[str, ...]) -> list[str]:
    """Returns the lines of the other paragraphs: the lines of a paragraph after the first are indented."""
    others, skips = list[str](), False
    for line in text.split("\n"):
        skips = line.startswith(begins) or (skips and line.startswith(" "))
        others += [] if skips else [line]
    return others


def _sharing(spec: WindowedJoin) -> str:
    keys = spec.shard_keys(LEFT)
    if keys:
        return f"Shards: keys are spread over shards by {listed(keys)}, which the join and the windows have."
    return "Shards: one. With a key that the join and the windows have there would be several."
