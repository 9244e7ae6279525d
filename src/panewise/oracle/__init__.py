"""The oracle: the reference implementation of docs/semantics.md.

It processes one row at a time, is slow, and defines the right result. It shares no code for these rules with
the engine: both are written from the text, and tests compare their outputs.
"""

from panewise.oracle.chain.interpreter import ChainInterpreter
from panewise.oracle.interpreter import interpreter
from panewise.oracle.over.interpreter import OverInterpreter
from panewise.oracle.policy.interpreter import PolicyInterpreter
from panewise.oracle.windows.interpreter import Interpreter

__all__ = ["ChainInterpreter", "Interpreter", "OverInterpreter", "PolicyInterpreter", "interpreter"]
