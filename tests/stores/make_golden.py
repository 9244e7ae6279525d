"""Writes the directories under `golden`: `python -m tests.stores.make_golden`.

They are never rewritten: they are what the stores of a release left behind. A new format adds new ones.
"""

from pathlib import Path

from panewise.stores.store_directory import FORMAT
from tests.stores.played import CASES

FOLDER = Path(__file__).parent / "golden"
STEPS = 30


def folder_of(kind: str, number: int) -> Path:
    """Returns the directory of a store in a format."""
    return FOLDER / f"{kind.replace(' ', '_').replace(',', '')}-format-{number}"


def main() -> None:
    """Writes the directories that are missing. RocksDB's reports and locks are no part of them."""
    for kind, case in CASES.items():
        folder = folder_of(kind, FORMAT)
        if folder.exists():
            continue
        for half in (range(STEPS // 2), range(STEPS // 2, STEPS)):
            with case.opened(folder) as store:
                for number in half:
                    case.play(store, number)
                    store.commit()
        for path in (*folder.glob("LOG*"), *folder.glob("LOCK"), *folder.glob("OPTIONS-*")):
            path.unlink()


if __name__ == "__main__":
    main()
