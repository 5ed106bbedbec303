"""The folders of other projects' test data and of our captures: tests read them there, and copy nothing."""

from __future__ import annotations

import os
from pathlib import Path

SHARED = Path(os.environ.get("SPARK_CDC_SHARED") or Path(__file__).resolve().parents[2] / "shared")
CAPTURES = SHARED / "captures"
PEER_CASES = SHARED / "peer_cases"
