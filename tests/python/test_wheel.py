"""The wheel has both parts of what a user runs, and nothing that only this repository needs."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> zipfile.ZipFile:
    """The wheel of this checkout, built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, repository],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = folder.glob("*.whl")
    return zipfile.ZipFile(file)


def test_the_wheel_has_both_halves_and_no_more(wheel: zipfile.ZipFile, repository: Path) -> None:
    names = [name for name in wheel.namelist() if ".dist-info/" not in name]
    module = repository / "python_udfs" / "dbt_spark_cdc"
    expected = {
        f"dbt_spark_cdc/{path.relative_to(module)}"
        for path in module.rglob("*")
        if path.suffix in (".py", ".avsc", ".css", ".html", ".js")
    }
    for folder in ("macros", "seeds/type_codes"):
        expected |= {
            f"dbt_spark_cdc/project/{path.relative_to(repository)}"
            for path in (repository / folder).rglob("*.*")
            if "example" not in path.parts
        }
    others = {"dbt_project.yml", "docs/reference/error-codes.md"}
    assert set(names) == expected | {f"dbt_spark_cdc/project/{name}" for name in others}


def test_nothing_of_the_wheel_sets_a_machine_up(wheel: zipfile.ZipFile) -> None:
    """A user's pip brings no program that calls apt-get, fetches jars or runs the worked example."""
    words = (b"apt-get", b"spark-submit", b"sha256", b"sample_messages")
    found = [
        (name, word.decode())
        for name in wheel.namelist()
        if name.endswith((".py", ".sql"))
        for word in words
        if word in wheel.read(name)
    ]
    assert found == []
