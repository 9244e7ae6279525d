"""Joins of SQL by time, by windows and by the order of rows (semantics 46.20, 46.21)."""

from panewise.sql.joins.compiler import JoinCompiler
from panewise.sql.joins.kinds import is_join
from panewise.sql.joins.resolve import ResolvedJoin, resolved
from panewise.sql.joins.side_columns import JoinInput, joined_name
