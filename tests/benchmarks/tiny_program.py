"""What a measurement of the tests runs: writes tiny.json, and ends with a status.

python -m tests.benchmarks.tiny_program CODE STATUS
"""

import json
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    path = Path(os.environ["MANYCLASS_RESULTS"], "tiny.json")
    path.write_text(json.dumps({"code": {"tiny": sys.argv[1]}, "date": "2026-11-28"}))
    sys.exit(int(sys.argv[2]))
