"""Reads the specification in a manifest without the functions that the user defined for it."""

import warnings

from panewise.engine.checkpoint import unreadable_spec
from panewise.errors import SpecError, SpecWarning
from panewise.spec import Specification
from panewise.spec.codec import without_functions
from panewise.state import Manifest


def recorded_spec(manifest: Manifest) -> Specification:
    """Returns the specification in a manifest, with placeholders for user-defined functions.

    Raises:
        StateError: if the specification is not valid.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)  # the user was warned when the query was built
        try:
            spec: Specification = without_functions(manifest.spec)
        except SpecError as error:
            raise unreadable_spec(error) from error
    return spec
