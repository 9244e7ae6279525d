"""The sources that a script of SQL declares, as DataFrames (semantics 46.42)."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from panewise.spark.inputs.guarded_watermark import watermarked_by, with_limit
from panewise.spec.conditions.text import in_backticks
from panewise.sql.script.declarations import OF_SOURCES, included, skew_of
from panewise.sql.script.statements import ColumnSyntax
from panewise.sql.script.steps import SourceStep


def source_of(session: SparkSession, step: SourceStep) -> DataFrame:
    """Returns the rows of a source, with the watermark of its view."""
    view = step.statement
    reader = session.readStream if step.streaming else session.read
    reader = reader.format(view.format).options(
        **{key: text for key, text in view.options.items() if key not in OF_SOURCES}
    )
    if view.columns is not None and view.format != "kafka":
        reader = reader.schema(ddl(view.columns))
    df = reader.load()
    if view.columns is not None and view.format == "kafka":
        df = decoded(df, view.columns, view.options.get("value.format", "json").lower(), included(view))
    if view.watermark is None:
        return df
    (name, delay), skew = view.watermark, skew_of(view)
    marked = watermarked_by(df, name, delay, skew)
    return marked if skew is None else with_limit(marked, name, skew)


def ddl(columns: tuple[ColumnSyntax, ...]) -> str:
    """Returns columns as Spark's DDL has them."""
    return ", ".join(f"{in_backticks(column.name)} {column.type}" for column in columns)


def decoded(
    messages: DataFrame, columns: tuple[ColumnSyntax, ...], kind: str, others: tuple[str, ...]
) -> DataFrame:
    """Returns the columns of the values of messages, null where Spark cannot decode them."""
    decode = F.from_json if kind == "json" else F.from_csv
    value = decode(F.col("value").cast("string"), ddl(columns)).alias("value")
    names = (F.col(f"value.{in_backticks(column.name)}") for column in columns)
    return messages.select(value, *others).select(*names, *others)
