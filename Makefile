# The commands of this project. Each one sets up `.venv` first if it is missing or the lock has changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
JOBS ?= auto

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-once test test-quick check static fmt lint types layers schemas docs catalog catalog-docs test-browser pictures test-live test-live-k8s bench bench-dashboard accuracy lock clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

setup: $(READY) ## prepare .venv (command .venv/bin/attribution)

$(READY): requirements.lock pyproject.toml scripts/setup
	@scripts/setup "$(PYTHON)" $(VENV)

demo: setup ## start Service and pages, diagnose every bundled sample, stay until Ctrl-C
	@$(BIN)/attribution demo

demo-once: setup ## the same without staying: print the answers and exit
	@$(BIN)/attribution demo --once

test: setup ## run all tests
	ALL_EXAMPLES=1 $(BIN)/pytest -n $(JOBS)

test-live: setup ## install real servers, start them on loopback, run connector tests and the lab (needs root)
	ATTRIBUTION_LIVE=1 $(BIN)/pytest -n 0 -m live -rs --durations=5 tests/live

test-live-k8s: setup ## compile a Kubernetes API server (once, some minutes) and run the connectors on it (needs root)
	ATTRIBUTION_LIVE=1 ATTRIBUTION_LIVE_K8S=1 $(BIN)/pytest -n 0 -m live -rs --durations=5 tests/live/kubernetes

test-browser: setup ## look at every page in Chromium (Debian: apt-get install chromium fonts-dejavu-core)
	ATTRIBUTION_BROWSER=1 $(BIN)/pytest -n 0 -m browser tests/browser

pictures: setup ## take the pictures of docs/dashboard.md anew, in Chromium
	$(BIN)/python scripts/make_pictures.py

test-quick: setup
	$(BIN)/pytest -n $(JOBS) -m "not slow"

static: setup lint types layers schemas docs catalog

check: setup ## the gate of every commit: all that needs no running, and all tests but the slow ones
	@$(MAKE) -j2 static
	@$(MAKE) test-quick

fmt: setup ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: setup
	$(BIN)/mypy

layers: setup
	$(BIN)/lint-imports --no-cache

schemas: setup
	$(BIN)/python scripts/write_schemas.py --check

docs: setup
	$(BIN)/python scripts/write_configuration.py --check

catalog: setup
	$(BIN)/attribution rules check

catalog-docs: setup ## write docs/catalog from the rules
	$(BIN)/python scripts/write_catalog_docs.py

bench: setup ## measure the scanner beside grep and ripgrep
	$(BIN)/python bench/scan.py

bench-dashboard: setup ## measure every page over a store of 100,000 attempts (some minutes)
	$(BIN)/python bench/dashboard.py

SCENARIOS ?= 200
MAX_NODES ?= 64
NODES ?=
SEED ?=
accuracy: setup ## measure the answers on generated scenarios (SCENARIOS=200 MAX_NODES=64; SEED= is drawn and printed)
	rm -rf build/scenarios
	$(BIN)/python -m bench.scenarios --count $(SCENARIOS) $(if $(NODES),--nodes $(NODES) --max-nodes $(NODES),--max-nodes $(MAX_NODES)) $(if $(SEED),--seed $(SEED)) --out build/scenarios
	$(BIN)/attribution bench accuracy build/scenarios --misses $(REQUIRE:%=--require '%')

lock: ## resolve the dependencies anew (needs uv)
	uv lock --python 3.11
	uv export --all-groups --no-emit-project --no-header --no-annotate --format requirements.txt > requirements.lock
	uv export --no-dev --no-emit-project --no-header --no-annotate --format requirements.txt > deploy/requirements.lock
	rm uv.lock

clean: ## remove what setup made
	rm -rf $(VENV) build
