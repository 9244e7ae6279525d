"""bench.report: the line in the file and the table."""

import json
from pathlib import Path

from bench.report import Result, append, table

RESULT = Result("hopping", "native", 7_000_000, 1_000_000, 1.25, 0.8, 1.0)


def test_results_are_appended_a_line_each(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    append(RESULT, file)
    append(RESULT, file)
    first, second = file.read_text(encoding="utf-8").splitlines()
    expected = {"shape": "hopping", "peer": "native", "rows": 7_000_000, "batch_rows": 1_000_000}
    expected |= {"ratio": 1.25, "ours_s": 0.8, "peer_s": 1.0}
    assert json.loads(first) == json.loads(second) == expected


def test_the_table_has_a_line_for_each_result_and_says_what_warm_up_is() -> None:
    heading, line, blank, *legend = table([RESULT]).splitlines()
    assert line.split() == [
        "hopping",
        "native",
        "7,000,000",
        "1,000,000",
        "0.800",
        "1.000",
        "1,250,000",
        "1,000,000",
        "1.25",
    ]
    assert len(heading) == len(line)
    assert blank == ""
    assert "without" in legend[0]
    assert "the first 2 of each run (warm-up)" in legend[1]
