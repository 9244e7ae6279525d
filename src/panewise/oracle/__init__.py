"""The oracle: a slow interpreter of docs/semantics.md, one row at a time, that defines what is right.

It shares no rule with the engine: both are written from the text, and tests compare them.
"""

from panewise.oracle.chain import ChainInterpreter, interpreter
from panewise.oracle.frames import FrameInterpreter
from panewise.oracle.interpreter import Interpreter
from panewise.oracle.streamwindow import PolicyInterpreter

__all__ = ["ChainInterpreter", "FrameInterpreter", "Interpreter", "PolicyInterpreter", "interpreter"]
