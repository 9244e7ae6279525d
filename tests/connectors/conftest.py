"""The fixture of runs without faults from tests/faults, and the test files that this Spark cannot run."""

from tests.connectors.jars import DELTA_FITS
from tests.faults.conftest import undisturbed

__all__ = ["undisturbed"]

# Delta runs only on the Spark version that it is built for, and there is no build for Spark 4.3.
collect_ignore = [] if DELTA_FITS else ["test_delta.py", "test_script.py", "test_topic_to_delta.py"]
