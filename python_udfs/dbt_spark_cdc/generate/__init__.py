"""`spark-cdc generate`: messages -> the dbt files that read them.

The package's macros read the messages in Spark; the plan of what they hold is written with small templates.
"""
