# Everything runs from .venv, which is made on first use from requirements.lock and made again when the lock changes.
# A fresh machine needs python3 (3.11 or newer) and Java (17 or 21), nothing else.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
PYTHON := $(CURDIR)/$(VENV)/bin/python
READY := $(VENV)/requirements.lock
FLINK := .venv-flink
FLINK_READY := $(FLINK)/flink-requirements.txt
DOCS := .venv-docs
DOCS_READY := $(DOCS)/requirements-docs.lock
PEERS := .venv-peers
PEERS_READY := $(PEERS)/peers-requirements.txt
SPARK := all
# Of `make soak`, `make rounds` and `make kills`: which part to run, and what the rounds on Spark are drawn from.
PART := 1/1
SEED := 0

# Both need .venv, and then run at the same time: mypy and ruff have a core while the tests wait for Spark.
ifeq ($(sort $(MAKECMDGOALS)),check test)
MAKEFLAGS += -j2
endif

# Tests start many processes, which must not compile the same modules again and again.
unexport PYTHONDONTWRITEBYTECODE
export PYSPARK_PYTHON := $(PYTHON)
export PYSPARK_DRIVER_PYTHON := $(PYTHON)
export SPARK_LOCAL_IP := 127.0.0.1

.PHONY: help env venv demo demo-join test matrix check browser names docs docs-serve notebooks scaffold format bench bench-guard bench-peers nightly soak rounds kills lock clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | while IFS=$$'\t' read -r target text; \
	  do printf '  make %-11s %s\n' "$$target" "$$text"; done

env: ## check that Python and Java have versions that panewise supports
	@python3 tools/check_env.py

# Modules are compiled when they are first imported (--no-compile): most never are. Those that processes import
# that start at the same time are imported here once, or each of these would compile them.
# The stamp is a copy of the lock, so a lock that was only touched (git checkout) does not cost a new environment.
$(READY): requirements.lock
	@python3 tools/check_env.py
	@if cmp -s requirements.lock $(READY); then touch $(READY); else \
	  echo "making $(VENV) from requirements.lock (this takes a minute or two)"; \
	  rm -rf $(VENV); \
	  python3 -m venv $(VENV); \
	  $(PYTHON) -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements.lock; \
	  $(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .; \
	  $(PYTHON) -c "import hypothesis, pandas, polars, pyspark.sql.functions, pytest, sqlglot, xdist.remote, yaml"; \
	  cp requirements.lock $(READY); \
	fi

venv: $(READY) ## make .venv if it is missing or the lock has changed

demo: $(READY) ## count a year of New York flights in hourly windows on Spark; draws a picture in out/demo
	@python3 tools/check_env.py
	@$(PYTHON) -m panewise.demo

demo-join: $(READY) ## join these flights with the weather at their airports; draws a picture in out/demo-join
	@python3 tools/check_env.py
	@$(PYTHON) -m panewise.demo.join

test: $(READY) ## the tests of every change: each property, with few drawn examples and few Spark queries
	@python3 tools/check_env.py
	@$(PYTHON) -m pytest -n 3 --dist loadscope --no-loadscope-reorder

matrix: $(READY) ## the tests that depend on PySpark, on each supported version; SPARK=4.1.4 selects one
	@python3 tools/check_env.py
	@$(PYTHON) tools/matrix.py $(SPARK) -n 3 --dist loadfile

check: $(READY) ## lint, format and types
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m mypy

browser: ## install Chromium from Debian or Ubuntu, as root: `make nightly` tests the page of `panewise watch` with it
	@command -v chromium chromium-browser google-chrome >/dev/null || { apt-get update -q && apt-get install -y --no-install-recommends chromium; }

names: $(READY) ## write the list of public names, and the pages made from the code; tests compare them
	@$(PYTHON) tools/public_names.py
	@$(PYTHON) -m tools.site_pages

scaffold: $(READY) ## write the skeleton of an extension: KIND=match NAME=nearest_key; see docs/extending.md
	@$(PYTHON) tools/scaffold.py "$(KIND)" "$(NAME)"

$(DOCS_READY): requirements-docs.lock
	@if cmp -s requirements-docs.lock $(DOCS_READY); then touch $(DOCS_READY); else \
	  echo "making $(DOCS) from requirements-docs.lock"; \
	  rm -rf $(DOCS); \
	  python3 -m venv $(DOCS); \
	  $(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-docs.lock; \
	  cp requirements-docs.lock $(DOCS_READY); \
	fi

docs: $(DOCS_READY) ## build the site into out/site; a broken link is an error
	@$(DOCS)/bin/zensical build --clean --strict

docs-serve: $(DOCS_READY) ## serve the site on http://127.0.0.1:8000, and build it again when a page changes
	@$(DOCS)/bin/zensical serve --dev-addr 127.0.0.1:8000

notebooks: $(READY) ## run the notebooks and store their outputs, which tests compare; NAME=joins is one of them
	@$(PYTHON) -m tools.notebooks $(NAME)

format: $(READY) ## format the sources
	@$(PYTHON) -m ruff format .
	@$(PYTHON) -m ruff check --fix .

bench: $(READY) ## benchmarks
	@python3 tools/check_env.py
	@$(PYTHON) -m bench
	@$(PYTHON) -m bench.flat
	@$(PYTHON) -m bench.skew
	@$(PYTHON) -m bench.cold
	@$(PYTHON) -m bench.metrics
	@$(PYTHON) -m bench.state
	@$(PYTHON) -m bench.joins
	@$(PYTHON) -m bench.joins flat
	@$(PYTHON) -m bench.joins skew
	@$(PYTHON) -m bench.deduplicate
	@$(PYTHON) -m bench.sql
	@$(PYTHON) -m bench.standalone
	@$(PYTHON) -m bench.retained
	@$(PYTHON) -m bench.stores
	@$(PYTHON) -m bench.size

bench-guard: $(READY) ## compare the speed with that of a commit, and fail if a shape takes 7 % longer: BASE=<commit>
	@$(PYTHON) -m bench.guard "$(BASE)" $(GUARD)

$(FLINK_READY): bench/flink-requirements.txt
	@echo "making $(FLINK) from bench/flink-requirements.txt (this downloads half a gigabyte and takes some minutes)"
	@rm -rf $(FLINK)
	@python3 -m venv $(FLINK)
	@$(FLINK)/bin/python -m pip install --quiet --disable-pip-version-check -r bench/flink-requirements.txt
	@cp bench/flink-requirements.txt $(FLINK_READY)

$(PEERS_READY): bench/peers-requirements.txt
	@echo "making $(PEERS) from bench/peers-requirements.txt (this downloads half a gigabyte and takes some minutes)"
	@rm -rf $(PEERS)
	@python3 -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r bench/peers-requirements.txt
	@cp bench/peers-requirements.txt $(PEERS_READY)

bench-peers: $(READY) $(FLINK_READY) $(PEERS_READY) ## compare with Flink, Bytewax and Pathway, which are installed in environments of their own
	@python3 tools/check_env.py
	@$(PYTHON) -m bench.flink
	@$(PYTHON) -m bench.joins flink
	@$(PYTHON) -m bench.standalone_peers

nightly: $(READY) $(DOCS_READY) ## the tests and examples that `make test` leaves out, and the tests of each PySpark version
	@python3 tools/check_env.py
	@PANEWISE_EXAMPLES=full $(PYTHON) -m pytest -m "(nightly or drawn) and not soak" -n 2 --dist loadfile --no-loadscope-reorder
	@$(PYTHON) tools/matrix.py all -n 3 --dist loadfile

soak: $(READY) ## the long campaigns: random programs, and queries that are killed and restarted; PART=3/64 is a part
	@python3 tools/check_env.py
	@$(PYTHON) -m pytest -m soak --part $(PART)

rounds: $(READY) ## the part of the long campaigns that kills queries on Spark; PART=3/16 SEED=1; reports to out/rounds-*.xml
	@python3 tools/check_env.py
	@PANEWISE_SEED=$(SEED) $(PYTHON) -m pytest tests/faults tests/connectors -m rounds --part $(PART) --junitxml=out/rounds-$(subst /,-of-,$(PART)).xml

kills: $(READY) ## the part of the long campaigns that kills processes with stores; reports to out/kills.xml
	@python3 tools/check_env.py
	@$(PYTHON) -m pytest tests/stores tests/standalone -m kills --part $(PART) --junitxml=out/kills.xml

lock: $(READY) ## resolve the dependencies in pyproject.toml into requirements.lock
	@$(PYTHON) tools/lock.py
	@$(PYTHON) tools/lock.py --docs
	@$(PYTHON) tools/lock.py --peers

clean: ## remove what the other targets made
	@rm -rf $(VENV) $(DOCS) $(FLINK) $(PEERS) .venv-matrix-* out spark-warehouse .mypy_cache .pytest_cache .ruff_cache .hypothesis
