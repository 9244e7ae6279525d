"""What runs of queries report, in the forms in which they are watched: log lines and Prometheus metrics.

Nothing here imports Spark. :func:`panewise.spark.observe` reads Spark's progress reports.
"""
