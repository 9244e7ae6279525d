"""The command `panewise explain`."""

import io
import sys
from pathlib import Path

import pytest

import panewise as pw
from panewise import functions as F
from panewise.cli import main
from panewise.spec.codec import to_json
from tests.house.sources import ROOT

SPEC = pw.WindowOperator(
    keys=["k"],
    window=pw.Tumbling("1 hour"),
    aggregates=[pw.UserAggregate.reduce("mine", max)("v"), F.count()],
)


def test_a_specification(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions of the user have only their names there, which is enough."""
    path = tmp_path / "spec.json"
    path.write_text(to_json(SPEC), encoding="utf-8")
    assert main(["explain", str(path)]) == 0
    words = capsys.readouterr().out
    assert "each row belongs to one window of 1 hour" in words
    monkeypatch.setattr(sys, "stdin", io.StringIO(to_json(SPEC)))
    assert main(["explain", "-"]) == 0
    assert capsys.readouterr().out == words


def test_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    """It is that of `panewise sql --explain`."""
    script = str(ROOT / "examples" / "revenue" / "revenue.sql")
    assert main(["explain", script]) == 0
    words = capsys.readouterr().out
    assert main(["sql", "--explain", script]) == 0
    assert capsys.readouterr().out == words


def test_what_is_no_specification(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    path.write_text("{", encoding="utf-8")
    assert main(["explain", str(path)]) == 2
    assert "a specification is read from JSON" in capsys.readouterr().err
    assert main(["explain", str(tmp_path / "none.json")]) == 2
    assert (
        "a specification is a file of JSON in UTF-8, as to_json returns it | give its"
        in capsys.readouterr().err
    )


def test_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "pw-time-002"]) == 0
    assert capsys.readouterr().out.startswith("PW-TIME-002: a duration fits in 64 bits\n")
    assert main(["explain", "PW-TIME-999"]) == 2
    assert "code PW-TIME-999 | an error prints its code" in capsys.readouterr().err
