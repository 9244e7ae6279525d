"""A process that plays steps in a store, and commits each one, until it is killed.

Arguments: the kind of store, its directory. From time to time it closes the store, and opens it again.
"""

import sys
from pathlib import Path

from panewise.stores import retaining_store
from tests.killing import tell
from tests.stores.played import CASES

STEPS_PER_OPENING = 40


def main() -> None:
    """Plays from the last committed step on."""
    kind, directory = sys.argv[1:]
    retaining_store._DELETED_AT_ONCE = 2  # so that kills also meet a commit between two slices of an expiry
    case = CASES[kind]
    tell("ready")
    while True:
        with case.opened(Path(directory)) as store:
            first = case.steps(store)
            for number in range(first, first + STEPS_PER_OPENING):
                case.play(store, number)
                tell("commit")
                store.commit()
                tell(str(number + 1))


if __name__ == "__main__":
    main()
