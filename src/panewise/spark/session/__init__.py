"""The Spark session and its workers: settings, versions, failures, logs."""
