"""docs/explanation/proofs.md names a test for each line, and all of these tests exist."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY / "docs" / "explanation" / "proofs.md").read_text(encoding="utf-8")


def test_every_test_that_is_named_exists() -> None:
    code = "\n".join(file.read_text(encoding="utf-8") for file in (REPOSITORY / "tests").glob("*/test_*.py"))
    named = set(re.findall(r"\b(test_\w+)`", PAGE))
    assert len(named) > 20
    assert named == set(re.findall(r"^def (test_\w+)", code, re.MULTILINE)) & named
    files = set(re.findall(r"`tests/(\w+/\w+\.py)", PAGE))
    assert files
    assert [file for file in sorted(files) if not (REPOSITORY / "tests" / file).is_file()] == []
