"""Tests of the metrics in the text format of Prometheus."""

import json
import re
from collections.abc import Iterator
from urllib.request import urlopen

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from panewise.observe.micro_batch import BatchFigures, MicroBatch
from panewise.observe.prometheus import COUNTERS, GAUGES, HISTOGRAM, PrometheusMetrics
from tests.house.sources import ROOT

LABELS = ("query", "operator", "reason", "timing", "le")
OPERATIONS = ROOT / "docs" / "operations"
FIGURES = BatchFigures(
    {"rows_in": 9, "applied": 5, "replays": 1, "late": 2, "invalid": 1, "panes": 7},
    timings={"EARLY": 3, "LATE": 1},
    late={"expired": 2},
    invalid={"gap": 1},
    state={"shards": 2, "live": 4, "state_bytes": 800, "watermark": 1_500_000, "watermark_delay": None},
)


def samples(metrics: PrometheusMetrics) -> dict[tuple[str | None, ...], float]:
    """Returns the values by name and values of labels."""
    return {
        (sample.name, *map(sample.labels.get, filter(sample.labels.__contains__, LABELS))): sample.value
        for family in text_string_to_metric_families(metrics.text())
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def test_the_metrics_of_a_micro_batch() -> None:
    """Counters add up, gauges have the last figures, and times are in seconds (semantics 15.9)."""
    metrics = PrometheusMetrics()
    for _ in range(2):
        metrics.add(MicroBatch("orders", 7, 9, 0.3, {"panewise": FIGURES}))
    values = samples(metrics)
    operator = ("orders", "panewise")
    expected = {
        ("panewise_source_rows_total", "orders"): 18,
        ("panewise_query_active", "orders"): 1,
        ("panewise_rows_in_total", *operator): 18,
        ("panewise_rows_applied_total", *operator): 10,
        ("panewise_rows_replayed_total", *operator): 2,
        ("panewise_rows_late_total", *operator): 4,
        ("panewise_rows_invalid_total", *operator): 2,
        ("panewise_rows_late_by_reason_total", *operator, "expired"): 4,
        ("panewise_rows_invalid_by_reason_total", *operator, "gap"): 2,
        ("panewise_panes_total", *operator, "EARLY"): 6,
        ("panewise_panes_total", *operator, "ON_TIME"): 0,
        ("panewise_panes_total", *operator, "LATE"): 2,
        ("panewise_panes_total", *operator, "none"): 6,
        ("panewise_shards", *operator): 2,
        ("panewise_state_rows", *operator): 4,
        ("panewise_state_bytes", *operator): 800,
        ("panewise_watermark_timestamp_seconds", *operator): 1.5,
    }
    others = {key: value for key, value in values.items() if not key[0].startswith("panewise_micro_batch_")}
    assert others == expected
    assert values["panewise_micro_batch_seconds_count", "orders"] == 2
    assert values["panewise_micro_batch_seconds_sum", "orders"] == pytest.approx(0.6)
    assert values["panewise_micro_batch_seconds_bucket", "orders", "0.25"] == 0
    assert values["panewise_micro_batch_seconds_bucket", "orders", "0.5"] == 2


def test_a_micro_batch_without_a_step_leaves_the_gauges() -> None:
    """The figures of the last micro-batch in which a shard ran stay (semantics 15.9)."""
    metrics = PrometheusMetrics()
    metrics.add(MicroBatch("orders", 7, 9, 0.3, {"panewise": FIGURES}))
    idle = BatchFigures({"rows_in": 0}, state={"shards": 0, "live": 0, "state_bytes": 0})
    metrics.add(MicroBatch("orders", 8, 0, 0.1, {"panewise": idle}))
    assert samples(metrics)["panewise_state_bytes", "orders", "panewise"] == 800


def test_ends_of_queries() -> None:
    """A failure is counted, and a query that has ended is not active (semantics 15.9)."""
    metrics = PrometheusMetrics()
    for query in ("ended", "failed", "running"):
        metrics.started(query)
    metrics.ended("ended", failed=False)
    metrics.ended("failed", failed=True)
    values = samples(metrics)
    assert [values["panewise_query_active", query] for query in ("ended", "failed", "running")] == [0, 0, 1]
    failures = [values["panewise_query_failures_total", query] for query in ("ended", "failed", "running")]
    assert failures == [0, 1, 0]


def test_a_query_that_has_ended_has_no_state() -> None:
    """Else alerts about its watermark would fire until the process ends (semantics 15.9)."""
    metrics = PrometheusMetrics()
    metrics.started("orders")
    assert samples(metrics)["panewise_micro_batch_seconds_count", "orders"] == 0
    metrics.add(MicroBatch("orders", 7, 9, 0.3, {"panewise": FIGURES}))
    metrics.ended("orders", failed=False)
    left = {name for name, *labels in samples(metrics) if name in GAUGES}
    assert left == {"panewise_query_active"}


def test_the_text_is_served_on_loopback() -> None:
    metrics = PrometheusMetrics()
    metrics.started("orders")
    port, close = metrics.serve(0, "127.0.0.1")
    try:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
            assert 'panewise_query_active{query="orders"} 1.0' in response.read().decode()
    finally:
        close()


def exposed() -> set[str]:
    histogram = {f"{HISTOGRAM}_{suffix}" for suffix in ("bucket", "sum", "count")}
    return {f"{name}_total" for name in COUNTERS} | set(GAUGES) | histogram


def expressions() -> Iterator[tuple[str, str]]:
    """Yields file and expression of everything that queries the metrics."""
    for group in yaml.safe_load((OPERATIONS / "alerts.yaml").read_text())["groups"]:
        for rule in group["rules"]:
            yield "alerts.yaml", rule["expr"]
    for panel in json.loads((OPERATIONS / "dashboard.json").read_text())["panels"]:
        for target in panel["targets"]:
            yield "dashboard.json", target["expr"]


def test_alerts_and_dashboard_query_metrics_that_exist() -> None:
    """Names do not change, and what queries them names no other (semantics 15.9)."""
    queried = {name for _, text in expressions() for name in re.findall(r"panewise_\w+", text)}
    assert queried <= exposed()
    assert {file for file, _ in expressions()} == {"alerts.yaml", "dashboard.json"}


def test_every_alert_has_a_reason_and_a_remedy() -> None:
    groups = yaml.safe_load((OPERATIONS / "alerts.yaml").read_text())["groups"]
    for rule in (rule for group in groups for rule in group["rules"]):
        assert set(rule["annotations"]) == {"summary", "description"}, rule["alert"]


def test_the_page_lists_the_metrics() -> None:
    """The table of docs/operations/metrics.md has each metric with its labels."""
    lines = (OPERATIONS / "metrics.md").read_text().splitlines()
    listed = {
        line.split("`")[1]: re.findall(r"`(\w+)`", line)[1:] for line in lines if line.startswith("| `panew")
    }
    labels = {f"{name}_total": names for name, (names, _) in COUNTERS.items()}
    labels |= {name: names for name, (names, _) in GAUGES.items()} | {HISTOGRAM: ("query",)}
    assert listed == {name: list(names) for name, names in labels.items()}
