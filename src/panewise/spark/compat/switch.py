"""Whether PySpark's DataFrames take functions over windows, and their original methods while they do."""

from typing import Any, Final

_ABSENT: Final = object()
_originals: dict[tuple[Any, str], Any] = {}  # empty: PySpark's classes are as PySpark made them


def is_enabled() -> bool:
    """Returns whether methods of PySpark's classes are replaced."""
    return bool(_originals)


def put(kind: Any, name: str, method: Any) -> None:
    """Replaces a method of a class, and stores the method that the class itself defines, if it does."""
    _originals.setdefault((kind, name), vars(kind).get(name, _ABSENT))
    setattr(kind, name, method)


def restore() -> None:
    """Restores all replaced methods. A method that the class inherited is inherited again."""
    for (kind, name), original in _originals.items():
        if original is _ABSENT:
            delattr(kind, name)
        else:
            setattr(kind, name, original)
    _originals.clear()
