"""Where other projects' test data and our captures stand: they are read there, and nothing of them is copied."""

from __future__ import annotations

import os
from pathlib import Path

SHARED = Path(os.environ.get("SPARK_CDC_SHARED") or Path(__file__).resolve().parents[2] / "shared")
CAPTURES = SHARED / "captures"
PEER_CASES = SHARED / "peer_cases"
