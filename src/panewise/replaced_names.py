"""Public names that other names have replaced: an error says which one has."""

from typing import Final, NoReturn

from panewise.errors import RetiredNameError

REPLACED: Final = {
    "panewise": {"FrameColumn": "OverColumn", "FrameOperator": "OverOperator"},
    "panewise.spark": {
        "EventResult": "PolicyResult",
        "FrameResult": "OverResult",
        "Overs": "OverBuilder",
        "Result": "WindowResult",
        "Windowed": "WindowBuilder",
        "stream_window": "policy_windows",
    },
    "panewise.spark.compat": {"frames_of": "result_of"},
    "panewise.streamwindow": {"HeldPartition": "StoredPartition"},
}


def no_attribute(module: str, name: str) -> NoReturn:
    """Raises the error for a name that a module does not have.

    Raises:
        RetiredNameError: if the module has another name in its place.
        AttributeError: if not.

    >>> no_attribute("panewise", "FrameColumn")
    Traceback (most recent call last):
    panewise.errors.RetiredNameError: panewise.FrameColumn | another name has replaced this one
    | use panewise.OverColumn [PW-SPEC-001]
    """
    new = REPLACED.get(module, {}).get(name)
    if new is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    raise RetiredNameError(f"{module}.{name}", "another name has replaced this one", f"use {module}.{new}")
