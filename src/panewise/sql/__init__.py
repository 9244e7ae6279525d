"""Streaming SQL: compiles a text to specifications, with the parts that Spark computes (semantics 46).

The way of a query, with the folders and modules of each step:

1. Text, in `text`: the runtimes call `recognize`, which says whether panewise has to compile a text, and
   `parameters`, which puts literals into it.
   `pipes` writes pipes as queries in FROM.
2. Syntax, in `parsing`: `parser` reads the text, with `expressions`, `relations` (FROM), `window_tables`,
   `groups` (GROUP BY) and `emit` (EMIT). It extends the parser of sqlglot, and returns values of `syntax`.
3. Kinds of SELECT: `compile` compiles each query in its `scope`. `selects` determines what a SELECT is, with
   `joins.join_queries` and `first_rows.first_queries`. Some SELECTs are written again as a query over a
   query (`rewriting`).
4. Specification: each kind of SELECT has a compiler: `windows`, `over`, `joins`, `first_rows`.
   `expressions` says what their expressions read and compute. `sources` compiles FROM, and `spark_queries`
   what Spark runs. The result is a tree of `stages`; those of operators have the specifications.
5. Run: `panewise.spark.streaming_sql` runs the stages on Spark, and `panewise.standalone.streaming_sql`
   runs them in process.

`script` has scripts of several statements. `to_sql` writes a specification as SQL, with `writing`.
`row_filters` says which rows a query selects after its last operator.

Only this package imports sqlglot.
"""

from panewise.sql.compile import compile_sql
from panewise.sql.to_sql import to_sql

__all__ = ["compile_sql", "to_sql"]
