"""Describes windows over joins in words."""

from panewise.spec.describe.join import describe as describe_join
from panewise.spec.describe.listing import listed, without_paragraphs
from panewise.spec.family_parts import parts
from panewise.spec.operators.join.columns import LEFT
from panewise.spec.operators.windowed_join import WindowedJoin

_OF_ROWS = ("Late rows:", "Invalid rows:", "Shards:")  # paragraphs that do not apply to windows over a join


def describe(spec: WindowedJoin) -> str:
    """Returns the description of the join, then that of the windows over its rows, and of the shards."""
    over = parts(spec.windows).describe(spec.windows)
    then = "Then: windows over the emitted rows, whose watermark is the output watermark of the join."
    return "\n".join([describe_join(spec.join), then, *without_paragraphs(over, _OF_ROWS), _sharing(spec)])


def _sharing(spec: WindowedJoin) -> str:
    keys = spec.shard_keys(LEFT)
    if keys:
        return f"Shards: keys are spread over shards by {listed(keys)}, which the join and the windows have."
    return "Shards: one. With a key that the join and the windows have there would be several."
