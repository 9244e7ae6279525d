"""Operators inside the caller's process, without Spark: in a service, a notebook or a test."""

from panewise.engine.ingest.output import Counts
from panewise.standalone.aio import AsyncOperator
from panewise.standalone.callbacks import Callbacks
from panewise.standalone.emission import Emission
from panewise.standalone.life_cycle import LifeCycle
from panewise.standalone.operator import StandaloneOperator

__all__ = ["AsyncOperator", "Callbacks", "Counts", "Emission", "LifeCycle", "StandaloneOperator"]
