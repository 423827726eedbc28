"""`python -m lect TOOL ...`: the command `lect`."""

import sys

from lect.tools.lect_main import main

sys.exit(main())
