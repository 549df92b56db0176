"""``python -m manyclass``."""

from __future__ import annotations

import sys

from manyclass.cli import main

if __name__ == "__main__":
    sys.exit(main())
