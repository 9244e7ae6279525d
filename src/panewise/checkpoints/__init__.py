"""Reads the state in the checkpoint of a query, without Spark. It changes nothing.

Spark stores it in RocksDB. :mod:`panewise.spark.checkpoint_reader` reads the same with Spark, where this
package does not know the format or cannot reach the files.
"""
