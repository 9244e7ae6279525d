"""Reads the state in the checkpoint of a query, without Spark. It changes nothing.

Spark stores it in RocksDB. :mod:`panewise.spark.checkpoint_reader` reads the same with Spark, where this
package does not know the format or cannot reach the files.
"""


class UnknownFormatError(Exception):
    """A format, a place or a setting that this package does not know.

    The message names it. It is never shown as an error: another reader takes over.
    """
