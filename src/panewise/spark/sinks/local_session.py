"""Which sinks need a session whose driver is this process."""

from panewise.errors import SpecError
from panewise.spark.session.driver import is_classic
from panewise.spark.sinks.base import SinkOutput


def check_in_driver(sink: str, output: SinkOutput) -> None:
    """Checks that a sink whose rows stay in the driver has a driver here. A batch DataFrame comes here."""
    if output.checkpoint is not None:
        check_stream_in_driver(output.session, sink, f"{output.name}={sink}")


def check_stream_in_driver(session: object, sink: str, fault: str) -> None:
    """Checks that the rows of a stream come to this process.

    Raises:
        SpecError: through Connect.
    """
    if not is_classic(session):
        rule = f"through Connect a stream is written by the server, and {sink} works in this process"
        raise SpecError(fault, rule, "give a sink that writes a table or files")
