# Every target sets up what it needs; a second run finds its stamps and needs no network.
# The logic is in tools/setup_env.py, not here.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup setup-dev demo test test-fast delta ansi spark40 converge journey races torture e2e lint bench docs clean

BIN := .venv/bin
# A pyenv shim may be on the path without a Python behind it, so each candidate is started.
PYTHON ?= $(shell for p in $(BIN)/python python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && { echo $$p; break; }; done)
SETUP = $(or $(PYTHON),$(error Python 3.10 to 3.13 is needed: install python3.11, or type make PYTHON=/path/to/it)) \
	-I tools/setup_env.py

export DBT_PROFILES_DIR := profiles

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Make .venv, install the pinned packages, check Java, fetch the jars
	@$(SETUP) demo

setup-dev:
	@$(SETUP) test

demo: setup ## Build the worked example, print its tables, write the docs page
	@$(BIN)/python tools/demo.py

test: lint ## Lint, then run all tests, in two processes
	@$(BIN)/pytest -n 2

test-fast: setup-dev ## Run the tests that need no Spark and no dbt run: less than a minute
	@$(BIN)/pytest -q -m "not dbt and not spark"

converge: setup-dev ## Put many more random logs into tables in random batches (LOGS=1000 SEED=...)
	@SPARK_CDC_LOGS=$(or $(LOGS),1000) SPARK_CDC_SEED=$(or $(SEED),$$RANDOM) $(BIN)/pytest tests/convergence

delta: setup-dev ## Tell the story of a user's project on Delta, which takes long
	@SPARK_CDC_LAKES=delta $(BIN)/pytest tests/integration/test_days.py tests/integration/test_whole_rows.py \
		tests/integration/test_landing.py tests/faults/test_kills.py -k 'not killed_landing'

ansi: setup-dev ## Tell it with Spark's ANSI mode on, which dbt-spark turns off in its own sessions
	@SPARK_CDC_ANSI=1 $(BIN)/pytest tests/python/test_golden.py tests/python/test_bad_input.py tests/python/test_captures.py tests/python/test_peer_cases.py
	@SPARK_CDC_ANSI=1 $(BIN)/pytest tests/integration tests/operations tests/convergence

spark40: setup-dev ## Read all golden cases on Spark 4.0, which is downloaded (half a gigabyte)
	@test -x .spark40/bin/pytest || { $(BIN)/python -m venv .spark40 && .spark40/bin/pip install -q -e '.[dts,mongodb,ddl,worker]' \
		'pyspark==4.0.*' 'pandas<3' hypothesis pytest pytest-xdist pyyaml; }
	@.spark40/bin/pytest tests/python/test_golden.py tests/python/test_functions.py tests/python/test_document_functions.py

journey: setup-dev ## Type the tutorial of a whole database, all its models and tests
	@SPARK_CDC_JOURNEY=1 $(BIN)/pytest tests/integration/test_journey.py

races: setup-dev ## Let two runs of one project meet at each bad moment
	@SPARK_CDC_RACES=1 $(BIN)/pytest tests/faults/test_two_runs.py

torture: setup-dev ## Kill dbt again and again, see it repair (ARGS="--help" lists the choices)
	@$(BIN)/python tests/faults/torture.py $(ARGS)

e2e: ## Read real databases through Debezium and Kafka, kill, compare all tables (ARGS="--help" lists the choices)
	@$(SETUP) e2e
	@$(BIN)/python tests/e2e/end_to_end.py $(ARGS)

lint: setup-dev ## Check Python, SQL and the dbt project
	@$(BIN)/ruff check .
	@$(BIN)/dbt --quiet --warn-error parse --no-partial-parse --show-all-deprecations
	@$(BIN)/sqlfluff lint --processes 2 --disable-progress-bar $(wildcard models tests/dbt)

bench: setup-dev ## Measure speed (ARGS="--help" lists the choices)
	@missed=0; \
	for part in functions.py apply.py generate.py build.py many_tables.py long_log.py landing.py "run.py $(ARGS)"; do \
		$(BIN)/python tests/bench/$$part || missed=1; \
	done; exit $$missed

docs: setup ## Write the docs page: target/static_index.html
	@$(BIN)/dbt docs generate --static

clean: ## Remove what runs left; .venv and .jars stay
	@rm -rf target logs .lake spark-warehouse metastore_db derby.log .pytest_cache .ruff_cache .hypothesis
