"""``python -m tests.fuzz models --cases 100000``."""

import sys

from tests.fuzz.run import main

sys.exit(main())
