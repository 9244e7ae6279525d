"""Runs that nobody disturbs, as in the tests of faults, and which tests there are."""

from tests.connectors.jars import DELTA_FITS
from tests.faults.conftest import undisturbed

__all__ = ["undisturbed"]

# Delta runs on the Spark that it is built for. There is none for Spark 4.3.
collect_ignore = [] if DELTA_FITS else ["test_delta.py", "test_topic_to_delta.py"]
