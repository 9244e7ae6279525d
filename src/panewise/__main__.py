"""`python -m panewise`: the command `panewise`, where its script is not on the path."""

import sys

from panewise.cli import main

if __name__ == "__main__":
    sys.exit(main())
