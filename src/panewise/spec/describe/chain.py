"""Describes chains in words."""

from panewise.spec.describe.listing import listed
from panewise.spec.describe.windows import describe as describe_windows
from panewise.spec.operators.chain import Chain, Stage


def describe(spec: Chain) -> str:
    """Returns the description of the window operator, then that of each stage and of the shards."""
    stages = (_stage(spec, stage) for stage in spec.stages)
    return "\n".join([describe_windows(spec.first), *stages, _sharing(spec)])


def _stage(chain: Chain, stage: Stage) -> str:
    """Describes a stage: the panes that it takes, and those that it emits."""
    apart = f" and each {listed(stage.keys)}" if stage.keys else ""
    contents = {
        "discarding": "the panes that were emitted together",
        "accumulating": "the latest pane of each key of the stage before",
        "retracting": "every pane of the stage before that is not retracted; its own previous pane is "
        "retracted first, and a pane equal to it is not emitted",
    }
    updated = "; a pane equal to the previous one is not emitted" if chain.first.only_updated else ""
    content = (
        f"It contains {listed(tuple(a.name for a in stage.aggregates))} of "
        f"{contents[chain.first.accumulation]}{updated}."
    )
    return (
        "Then: whenever panes are emitted, one pane with their timing for each of their "
        f"windows{apart}.\n  {content}"
    )


def _sharing(chain: Chain) -> str:
    if chain.shared_keys:
        return f"Shards: keys are spread over shards by {listed(chain.shared_keys)}, which all stages keep."
    return (
        "Shards: one, as a stage can combine all panes. With a key that all stages keep there would be "
        "several."
    )
