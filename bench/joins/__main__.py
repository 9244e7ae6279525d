"""`python -m bench.joins [flat | flink | skew]`: joins beside peers or Flink, with much state, a hot key."""

import sys

from bench.joins import compare, flat, flink, skew

_COMMANDS = {"flat": flat.main, "flink": flink.main, "skew": skew.main}

if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] in _COMMANDS:
        _COMMANDS[sys.argv[1]](sys.argv[2:])
    else:
        compare.main(sys.argv[1:])
