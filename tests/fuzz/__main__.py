"""``python -m tests.fuzz models --cases 100000``."""

import os
import sys

from tests.fuzz.environment import environment

os.environ.update(environment())

from tests.fuzz.run import main

sys.exit(main())
