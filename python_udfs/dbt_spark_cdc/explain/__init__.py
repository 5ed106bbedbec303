"""`spark-cdc explain`: one message -> what the models would make of it, or the rule that rejects it.

The package's macros read the message, as in `spark-cdc decode`: the code here only asks them, names what they
found, and puts it in words.
"""

from __future__ import annotations

from dbt_spark_cdc.explain.message import Explainer

__all__ = ["Explainer"]
