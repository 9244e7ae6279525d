"""The answer of a downstream."""

from typing import Any


def refuses(answer: Any) -> bool:
    """Returns whether a downstream has returned False, or the False of NumPy, which is another object."""
    kind = getattr(getattr(answer, "dtype", None), "kind", None)
    return answer is False or (kind == "b" and answer.shape == () and not answer)
