"""The pages for those who come from another system have ten programs beside those of the overview."""

import re

import pytest

from tests.house.sources import ROOT

FOLDER = ROOT / "docs" / "coming-from"
SYSTEMS = ("apex", "beam", "flink", "ibm-streams", "kafka-streams", "samza", "spark")
# The program of a number, without line ends and indents.
OVERVIEW = {
    int(number): re.sub(r"\n\.\.\. *", "", text)
    for number, text in re.findall(
        r"^## (\d+)\. (.*?)(?=^## |\Z)",
        (FOLDER / "index.md").read_text(encoding="utf-8"),
        re.DOTALL | re.MULTILINE,
    )
}
ROW = re.compile(r"^\| (\d+) \| (.+?) (?<!\\)\| (.+?) (?<!\\)\| (?:(.+?) (?<!\\)\|)?", re.MULTILINE)


def test_there_is_a_page_for_each_system() -> None:
    assert {*SYSTEMS} <= {page.stem for page in FOLDER.glob("*.md")}
    assert [*OVERVIEW] == [*range(1, 11)]


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_ten_programs_are_side_by_side(system: str) -> None:
    text = (FOLDER / f"{system}.md").read_text(encoding="utf-8")
    table = text.partition("| panewise | What differs |\n")[2].partition("\n\n")[0]
    programs = {int(number): ours.strip("`") for number, _, ours, _ in ROW.findall(table)}
    assert [*programs] == [*OVERVIEW]
    assert [number for number, ours in programs.items() if ours not in OVERVIEW[number]] == []


def test_flink_has_them_in_sql_too() -> None:
    table = (FOLDER / "flink.md").read_text(encoding="utf-8").partition("| Flink SQL | What differs |\n")[2]
    assert [int(number) for number in re.findall(r"^\| (\d+) \| `?\w", table, re.MULTILINE)] == [*OVERVIEW]
