"""Where the dbt part of this package is: next to it in the repository, inside it in a wheel."""

from __future__ import annotations

from pathlib import Path


def project_root() -> Path:
    """Return the folder that holds `dbt_project.yml` and `macros/`; FileNotFoundError if there is none."""
    here = Path(__file__).resolve().parent
    for folder in (here / "project", here.parents[1]):
        if (folder / "dbt_project.yml").is_file() and (folder / "macros").is_dir():
            return folder
    raise FileNotFoundError(
        f"dbt_spark_cdc: the dbt half of the package is in neither {here / 'project'} nor {here.parents[1]}; "
        "install the package again"
    )
