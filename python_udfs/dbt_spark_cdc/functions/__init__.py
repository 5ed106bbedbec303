"""One file per function: the pure Python function first, its Arrow wrapper second. No dbt in here."""
