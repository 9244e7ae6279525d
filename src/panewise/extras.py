"""The extras of the distribution: an error says which one has a package that is missing."""

from collections.abc import Iterator
from contextlib import contextmanager

from panewise.errors import MissingExtraError, PanewiseError


@contextmanager
def from_extra(extra: str, rule: str) -> Iterator[None]:
    """Names the extra if a package of another distribution cannot be imported in the block.

    Args:
        extra: the extra that installs it.
        rule: what needs it.

    Raises:
        MissingExtraError: if a package is missing, or is there without what it needs itself.

    >>> with from_extra("demo", "the demo draws with matplotlib"):
    ...     import no_such_package
    Traceback (most recent call last):
    panewise.errors.MissingExtraError: no package no_such_package | the demo draws with matplotlib
    | pip install 'panewise[demo]'
    """
    try:
        yield
    except PanewiseError:
        raise
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package == "panewise":
            raise
        problem = f"no package {package}" if isinstance(error, ModuleNotFoundError) else str(error)
        raise MissingExtraError(problem, rule, f"pip install 'panewise[{extra}]'") from error
