"""Pictures and pages that explain a run of a window operator, made from Polars frames of its outputs."""
