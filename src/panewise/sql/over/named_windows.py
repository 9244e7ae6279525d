"""Windows of the clause WINDOW, which OVER and other windows of the clause name."""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from panewise.sql.parsing.parser import QueryParser

_PARTS = ("partition_by", "order", "spec")


def described(window: exp.Window, named: Sequence[exp.Expr], parser: QueryParser) -> exp.Expr:
    """Returns the node that has PARTITION BY, ORDER BY and the frame of a call (semantics 46.126).

    It is the call, the window that the call names, or what both have together.

    Args:
        window: the call with OVER.
        named: the windows of the clause WINDOW, in their order.
        parser: the parser, for errors.

    Raises:
        SqlError: if there is no window of the name, or a part is said twice.
    """
    known: dict[str, exp.Expr] = {}
    for definition in named:
        known[str(definition.this.name).lower()] = _full_window(definition, known, parser)
    return _full_window(window, known, parser)


def _full_window(window: exp.Expr, known: Mapping[str, exp.Expr], parser: QueryParser) -> exp.Expr:
    """Returns a window with the parts of the one that it names."""
    alias = window.args.get("alias")
    if alias is None:
        return window
    base, span = known.get(str(alias.name).lower()), parser.span_of(window)
    if base is None:
        rule = f"OVER with a name has that of a window of the clause WINDOW: {sorted(known)}"
        raise parser.fail(str(alias.name), rule, "write OVER (PARTITION BY ... ORDER BY ...)", span)
    own = {part: window.args[part] for part in _PARTS if window.args.get(part)}
    inherited = {part: base.args[part] for part in _PARTS if base.args.get(part)}
    if own and ("partition_by" in own or "spec" in inherited or own.keys() & inherited.keys()):
        rule = "a window that names another one adds ORDER BY or a frame that this has not"
        raise parser.fail(str(alias.name), rule, "write OVER (PARTITION BY ... ORDER BY ...)", span)
    if not own:
        return base
    # The nodes stay those of the text, whose places errors show.
    whole = exp.Window(this=window.this)
    whole.args.update({**inherited, **own})
    return whole
