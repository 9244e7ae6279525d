"""Functions that are whole columns, and refuse to be parts of expressions, which they are in PySpark."""

from abc import abstractmethod
from typing import NoReturn

from panewise.errors import SpecError


class WholeColumn:
    """What cannot be a part of an expression: an aggregate, or a function over a window."""

    @abstractmethod
    def refusal(self) -> SpecError:
        """Returns the error of an expression with this function."""

    def cast(self, *_: object) -> NoReturn:
        """Refuses the expression, as all operators on this class do.

        Expressions take two steps here: compute the function as a column, then the expression from that
        column.
        """
        raise self.refusal()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __mod__ = (
        __rmod__
    ) = cast
    __neg__ = __invert__ = __lt__ = __le__ = __gt__ = __ge__ = __and__ = __rand__ = __or__ = __ror__ = (
        __getitem__
    ) = cast
    _get_object_id = cast  # what PySpark calls in `column - function`
