"""Runs that nobody disturbs, as in the tests of faults."""

from tests.faults.conftest import undisturbed

__all__ = ["undisturbed"]
