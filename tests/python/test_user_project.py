"""A project that installs the package gets macros, and none of our nodes. No command here starts Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.dbt
FILES = {
    # The most tempting name of a profile: it turns nothing of ours on.
    "dbt_project.yml": "name: shop\nversion: 1.0.0\nprofile: spark_cdc\n",
    "profiles.yml": "spark_cdc: {target: local, outputs: {local: "
    "{type: spark, method: session, host: localhost, schema: shop}}}\n",
    "models/sources.yml": "sources: [{name: shop, tables: [{name: raw}]}]\n",
    "models/stg_shop__messages.sql": "{{ config(materialized='cdc_append') }}"
    "{{ spark_cdc.messages(source('shop', 'raw'), format='canal') }}\n",
    "models/models.yml": "models: [{name: stg_shop__messages, data_tests: [spark_cdc.no_errors]}]\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """A user's project, with the package that `dbt deps` installs."""
    folder = tmp_path_factory.mktemp("shop")
    for name, text in (FILES | {"packages.yml": f"packages: [{{local: {repository}}}]\n"}).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    dbt(folder, "deps")
    return folder


def dbt(project: Path, *arguments: str) -> str:
    """What a dbt command prints; it must succeed, and without Java a Spark that is started after all fails."""
    done = subprocess.run(
        [sys.executable, "-m", "dbt.cli.main", "--quiet", "--no-send-anonymous-usage-stats", *arguments],
        cwd=project,
        env=os.environ | {"DBT_PROFILES_DIR": str(project), "JAVA_HOME": str(project / "no_java")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_users_project_lists_its_own_nodes_only(project: Path) -> None:
    listed = dbt(project, "ls").split()
    assert listed == [
        "shop.stg_shop__messages",
        "source:shop.shop.raw",
        "shop.spark_cdc_no_errors_stg_shop__messages_",
    ]


def test_a_users_project_parses_without_a_warning(project: Path) -> None:
    dbt(project, "--warn-error", "parse", "--no-partial-parse", "--show-all-deprecations")
