"""`python -m panewise`, which is the command `panewise`."""

import sys

from panewise.cli import main

sys.exit(main())
