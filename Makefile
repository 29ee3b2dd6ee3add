# Every command of the house. `make help` lists them; all run from a fresh clone, in a virtual environment of the clone's own.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
ORACLES := .venv-oracles
ORACLES_STAMP := $(ORACLES)/.installed

.DEFAULT_GOAL := help
.PHONY: help install demo test check fix features up acceptance-docker bench-quick bench-translation oracles chaos

help: ## list the commands
	@grep -hE '^[a-z-]+:.*?## ' $(MAKEFILE_LIST) | awk -F ':.*?## ' '{printf "  make %-18s %s\n", $$1, $$2}'

install: $(STAMP) ## set up .venv with toolrelay and everything the other commands need
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "toolrelay needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) (a minute or so, once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' --constraint constraints.txt
	@touch $@

demo: $(STAMP) ## run messages of six providers on two worker processes and an embedded server
	@$(BIN)/toolrelay demo

test: $(STAMP) ## run every test: unit, integration, acceptance, features
	@$(BIN)/python -m behave --format progress --no-capture features
	@TOOLRELAY_FUZZ_PAYLOADS=100000 $(BIN)/python -m pytest --numprocesses 2 --dist loadgroup

features: $(STAMP) ## run only features/, the promises to users
	@$(BIN)/python -m behave features

check: $(STAMP) ## formatting, style, types, and that every file in deploy/ parses; writes nothing
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/python deploy/check.py

fix: $(STAMP) ## let ruff repair what it can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

up: ## bring up Redis, three workers and an example agent with Docker Compose
	docker compose up --build --wait --scale worker=3

acceptance-docker: $(STAMP) ## the acceptance tests with every worker and Redis in a container (needs a Docker engine)
	@$(BIN)/python -m pytest tests/acceptance --over docker

bench-quick: $(STAMP) ## bare Celery and toolrelay in turn on the same Redis (a minute or two)
	@$(BIN)/python benchmarks/quick.py $(BENCH_ARGS)

$(ORACLES_STAMP): pyproject.toml tests/oracles/requirements.txt
	@test -x $(ORACLES)/bin/python || $(PYTHON) -m venv $(ORACLES)
	@echo "setting up $(ORACLES) (some minutes, once)"
	@$(ORACLES)/bin/python -m pip install --quiet --disable-pip-version-check --requirement tests/oracles/requirements.txt
	@$(ORACLES)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

bench-translation: $(ORACLES_STAMP) ## reading and writing tool calls beside other libraries, which it installs
	@$(ORACLES)/bin/python benchmarks/translation.py $(BENCH_ARGS)

oracles: $(ORACLES_STAMP) ## hold what is read and written against the providers' SDKs, which it installs
	@$(ORACLES)/bin/python -m pytest tests/oracles

chaos: $(STAMP) ## the long run: deeper walks through the record
	@$(BIN)/python -m pytest tests/chaos
