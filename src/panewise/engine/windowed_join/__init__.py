"""Windows over a join: both operators in one."""
