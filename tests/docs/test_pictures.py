"""The pictures of the explanations show the runs of their pages. `make names` writes them."""

from xml.etree import ElementTree as ET

import pytest

from tests.docs.markdown import links
from tools.pictures.explained import DOCS, DRAWN, picture

PICTURES = DOCS / "pictures"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly if "fast" in name else ()) for name in DRAWN]
)
def test_a_picture_is_current(name: str) -> None:
    path, drawn = picture(name)
    assert path.read_text(encoding="utf-8") == drawn


def test_pictures_are_well_formed_and_shown() -> None:
    files = sorted(PICTURES.glob("*.svg"))
    roots = [ET.fromstring(path.read_text(encoding="utf-8")) for path in files]
    assert {root.get("role") for root in roots} == {"img"}
    shown = {(page.parent / link).resolve() for page in DOCS.rglob("*.md") for link in links(page)}
    assert [path.name for path in files if path not in shown] == []
