"""The dataflow of operators in this process: what Spark cuts, moves, repeats and restarts changes no output."""

from functools import partial
from typing import Any

import pytest

from panewise.spec import parts
from panewise.spec.codec import from_dict
from panewise.testing import run, transcripts
from panewise.testing.compare import same
from panewise.testing.runtimes import spark as on_spark
from tests.spark import in_process
from tests.spark.in_process import Cut
from tests.spark.test_transcripts import DOCUMENTS, named
from tests.transcripts.functions import USER_LISTENERS, USER_WINDOWS

pytestmark = pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")

# Each micro-batch starts from the stored state alone, as after a restart.
FINE = Cut(partitions=3, rows=2, bytes=64, cold=True)
MIXED = Cut(partitions=2, order=3, repeat=True)


def use(monkeypatch: pytest.MonkeyPatch, cut: Cut) -> None:
    """Lets the runtime "spark" play in this process."""
    monkeypatch.setattr(on_spark, "play", partial(in_process.play, cut=cut))


@pytest.mark.parametrize("pair", DOCUMENTS, ids=named)
def test_transcript(monkeypatch: pytest.MonkeyPatch, pair: tuple[str, Any]) -> None:
    """In one shard all rows come in the order of the transcript, however batches are cut (semantics 3, 33)."""
    use(monkeypatch, FINE)
    transcripts.check(pair[1], "spark", user_windows=USER_WINDOWS, user_listeners=USER_LISTENERS)


@pytest.mark.parametrize("pair", DOCUMENTS, ids=named)
def test_transcript_in_shards(monkeypatch: pytest.MonkeyPatch, pair: tuple[str, Any]) -> None:
    """Several shards emit together what one emits (semantics 3.1), and what the oracle emits."""
    use(monkeypatch, MIXED)
    document = pair[1]
    events = [{name: of for name, of in one.items() if name not in ("expect", "state")} for one in document["events"]]
    spec = from_dict(document["spec"], None, USER_WINDOWS, USER_LISTENERS)
    given = {"types": document.get("types"), "windows": True}
    shards = 3 if parts(spec).one_shard(spec) is None else 1
    found, wanted = run(spec, events, "spark", shards=shards, **given), run(spec, events, "oracle", **given)
    for event, one, other in zip(events, found, wanted, strict=True):
        for part in other:
            assert same(ordered(one[part]), ordered(other[part])), (event, part, one[part], other[part])


def ordered(part: Any) -> Any:
    """Returns the rows of an output in an order that the number of shards does not change."""
    return sorted(part, key=repr) if isinstance(part, list) else part
