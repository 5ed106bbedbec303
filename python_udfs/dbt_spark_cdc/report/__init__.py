"""`spark-cdc report`: a dbt project's models as they are now -> one page for a browser, in one file.

`reading` asks the project through dbt, `figures` has what it found, and `page` writes the file.
"""
