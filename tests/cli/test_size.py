"""The command `panewise size`."""

import json
import re
from typing import Any

import pytest

from panewise.cli import main

ARGUMENTS = ["--rows-per-second", "50000", "--keys", "1e6", "--window", "1 hour"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["size", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["size", "--operator", "windows", *ARGUMENTS]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = ["cores", "shards", "stored entries", "state", "to the checkpoint", "Python worker"]
    assert [re.split(r"  +", line)[0] for line in lines[:-1]] == names
    assert {line.index(line.split("  ")[-1]) for line in lines[:-1]} == {len(max(names, key=len)) + 2 + 9 + 2}
    assert re.fullmatch(r"costs of \d+-\d+-\d+, .+, PySpark \d+\.\d+\.\d+", lines[-1])


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    need = run(capsys, "--operator", "windows", *ARGUMENTS)
    assert need["workloads"] == [
        {
            "operator": "windows",
            "rows_per_second": 50000,
            "keys": 1e6,
            "window": 3600,
            "slide": None,
            "delay": 10,
            "lateness": 0,
            "batch": 10,
        }
    ]
    assert {"cores", "shards", "entries", "state_bytes", "checkpoint_bytes", "worker_bytes"} <= set(need)
    assert need["measured"]["pyspark"]


def test_durations_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    durations = [
        "--delay",
        "1 minute",
        "--lateness",
        "1 day",
        "--micro-batch",
        "20 seconds",
        "--slide",
        "10 minutes",
    ]
    need = run(
        capsys, "--operator", "values", *ARGUMENTS, *durations, "--utilization", "0.5", "--cache-mb", "10"
    )
    (workload,) = need["workloads"]
    names = ("delay", "lateness", "batch", "slide")
    assert [workload[name] for name in names] == [60, 86400, 20, 600]
    assert need["busy"] <= 0.5
    assert need["worker_bytes"] < run(capsys, "--operator", "values", *ARGUMENTS, *durations)["worker_bytes"]


def test_several_operators(capsys: pytest.CaptureFixture[str]) -> None:
    """The state of a query is that of all its operators."""
    alone = [run(capsys, "--operator", name, *ARGUMENTS) for name in ("windows", "deduplicate")]
    both = run(capsys, "--operator", "windows", "--operator", "deduplicate", *ARGUMENTS)
    assert both["state_bytes"] == pytest.approx(sum(need["state_bytes"] for need in alone))
    assert both["cores"] >= max(need["cores"] for need in alone)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--operator", "none"], "panewise: operator='none' | costs are known of the operators windows, "),
        (["--operator", "windows", "--delay", "soon"], "panewise: delay='soon' | "),
        (["--operator", "windows", "--micro-batch", "1 millisecond"], "panewise: micro-batches of 0.001 s, "),
    ],
)
def test_errors(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["size", *arguments, *ARGUMENTS]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith(message)
    assert shown.count(" | ") == 2


def test_the_window_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["size", "--operator", "windows", *ARGUMENTS[:4]]) == 2
    assert (
        capsys.readouterr().err
        == "panewise: window=0 s | the length of windows is above 0 | give the window [PW-TOOL-030]\n"
    )
