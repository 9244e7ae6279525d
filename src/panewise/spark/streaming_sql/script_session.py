"""The session of a script, and which of several settings it has (semantics 46.41)."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

from panewise.spark.session.settings import PARTITIONS, configure
from panewise.sql.script.application import Application
from panewise.sql.script.steps import InsertStep, QueryStep, SettingStep

_REMOTE: Final = "spark.remote"  # says where a session is, and is no setting in it


def script_session(application: Application) -> tuple[SparkSession, bool]:
    """Returns the session of this process or a new one, prepared for operators, and whether it is new.

    A setting of the command takes precedence over SET, and that over a setting with which the process was
    started, as by spark-submit.

    Args:
        application: the script. A new session has the settings of Spark before its first query.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        keep_settings(active, application.session_settings)
        return active, False
    settings = {**dict(_settings_before_queries(application)), **application.session_settings}
    builder = SparkSession.builder.appName("panewise sql")
    session = builder.config(map={"spark.ui.showConsoleProgress": "false", **settings}).getOrCreate()
    remote = _REMOTE in settings or "SPARK_REMOTE" in os.environ
    configure(session, shuffle_partitions=None if remote or PARTITIONS in settings else _cores(session))
    keep_settings(session, settings)
    return session, True


def _settings_before_queries(application: Application) -> Iterator[tuple[str, str]]:
    """Yields the settings of Spark that a script makes before its first query."""
    for step in application.steps:
        match step:
            case SettingStep(statement) if statement.key.startswith("spark."):
                yield statement.key, statement.value
            case QueryStep() | InsertStep():
                return
            case _:
                pass


def _cores(session: SparkSession) -> int | None:
    """Returns the number of cores of a local session whose number of partitions nobody has chosen."""
    context = session.sparkContext
    chosen = context.getConf().contains(PARTITIONS) or not str(context.master).startswith("local")
    return None if chosen else context.defaultParallelism


def keep_settings(session: SparkSession, settings: Mapping[str, str]) -> None:
    """Sets these settings again where the session has another value.

    Settings that Spark fixes at the start of a session cannot have changed.
    """
    for key, value in settings.items():
        if key != _REMOTE and session.conf.get(key, None) != value:
            session.conf.set(key, value)


def settings_of(session: SparkSession, application: Application) -> dict[str, str | None]:
    """Returns the present values of the settings of Spark that a script makes, None for those without one."""
    steps = (step for step in application.steps if isinstance(step, SettingStep))
    keys = (step.statement.key for step in steps if not (step.own or step.replaced))
    return {key: session.conf.get(key, None) for key in keys if key != _REMOTE}


@contextmanager
def with_settings(session: SparkSession, settings: Mapping[str, str | None]) -> Iterator[None]:
    """Sets these settings in the block, and restores the session's own values afterwards."""
    own = {key: session.conf.get(key, None) for key in settings}
    _set(session, own, settings)
    try:
        yield
    finally:
        _set(session, settings, own)


def _set(session: SparkSession, present: Mapping[str, str | None], wanted: Mapping[str, str | None]) -> None:
    """Sets the wanted values that differ from the present ones; None unsets a setting."""
    for key, value in wanted.items():
        if value is None and present[key] is not None:
            session.conf.unset(key)
        elif value is not None and present[key] != value:
            session.conf.set(key, value)
