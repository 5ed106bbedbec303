"""Sends the package to Spark's workers on a cluster, and checks whether the functions run there."""

from __future__ import annotations

import atexit
import functools
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt_spark_cdc.functions.type_name import seed_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGE = Path(__file__).resolve().parent

# One call of each function, which imports all that it needs.
PROBES = {
    "cdc_decode_binary": "cdc_decode_binary('', 'hex')",
    "cdc_type": "cdc_type('canal', 'int')",
    "cdc_ddl": "cdc_ddl('drop table t', 'mysql')",
    "cdc_detect": "cdc_detect('{}')",
    "cdc_dts_avro": "cdc_dts_avro(X'00')",
    "cdc_mongo_fields": "cdc_mongo_fields('{}')",
    "cdc_mongo_update": "cdc_mongo_update('{}', '{}')",
    "cdc_mongo_update_description": (
        "cdc_mongo_update_description('{}', '{}', cast(null as array<string>), "
        "cast(null as array<struct<field: string, size: int>>))"
    ),
    "cdc_mongo_patched": "cdc_mongo_patched('{}', array(array('[]')))",
}
_CALL = re.compile(rf"\b({'|'.join(PROBES)})\s*\(")
# The last line of a Python traceback, or the error class of Spark before its text.
_REASON = re.compile(r"^\s*(\w*(?:Error|Exception): .+|\[PYTHON_VERSION_MISMATCH\].+)$", re.MULTILINE)


def is_remote(spark: SparkSession) -> bool:
    """Tell whether a session is one of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def ship(spark: SparkSession) -> None:
    """Send the package to the workers of a session, unless they are on this machine.

    Workers then have this very version, whatever is installed there. The packages that the functions import
    must be installed there: `pip install 'dbt-spark-cdc[worker]'`.
    """
    if is_remote(spark):
        spark.addArtifacts(str(zipped()), pyfile=True)
    elif not re.fullmatch(r"local(\[.*\])?", spark.sparkContext.master):
        spark.sparkContext.addPyFile(str(zipped()))


@functools.cache
def zipped() -> Path:
    """Write the package as one file that Python can import: once a process.

    Spark rejects a second file with the same name from another folder, and Spark Connect one with other
    bytes.
    """
    # It stays as long as this process runs: Spark sends the file to each worker when the worker starts.
    folder = Path(tempfile.mkdtemp(prefix="dbt-spark-cdc-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "dbt_spark_cdc.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in _files():
            # A fixed time: another process of the same version then sends the same bytes.
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return path


def _files() -> Iterator[tuple[str, bytes]]:
    for file in sorted(_PACKAGE.rglob("*")):
        inside = file.relative_to(_PACKAGE)
        if file.suffix in (".py", ".avsc") and inside.parts[0] != "project":
            yield f"dbt_spark_cdc/{inside.as_posix()}", file.read_bytes()
    for file in seed_files():
        yield f"dbt_spark_cdc/project/seeds/type_codes/{file.name}", file.read_bytes()


def functions_in(sql: str) -> set[str]:
    """Return the names of the package's functions that a statement calls."""
    return set(_CALL.findall(sql))


def why_not(spark: SparkSession, names: set[str]) -> str | None:
    """Run each of these functions once on a worker; return a sentence if that fails, else None."""
    try:
        # A worker makes this row: a query of constants alone runs in the driver.
        spark.range(0, 1, 1, 1).selectExpr(*(PROBES[name] for name in sorted(names))).collect()
    except Exception as error:
        return (
            f"spark_cdc: Spark's workers cannot run {', '.join(sorted(names))}: {_reason(error)}. "
            "Install on each worker, in the Python that it runs: "
            "pip install 'dbt-spark-cdc[worker,dts,mongodb,ddl]'. See docs/how-to/run-on-a-cluster.md."
        )
    return None


def _reason(error: Any) -> str:
    found = _REASON.findall(str(error))
    reason = found[-1] if found else " ".join(str(error).split())[:300]
    return reason.strip().rstrip(".") or type(error).__name__
