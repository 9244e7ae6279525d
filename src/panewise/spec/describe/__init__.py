"""Describes specifications in plain words: what is emitted and when, late and invalid rows, and state."""

from panewise.spec.family_parts import parts
from panewise.spec.protocol import Specification


def describe(spec: Specification) -> str:
    """Returns a description of what a specification of any family does, as lines of text."""
    return parts(spec).describe(spec)
