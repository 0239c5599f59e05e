# make demo       set up, run the demo, name the page to open
# make test       set up, lint, types, all tests
# make gpu-test   tests of the CUDA kernels (needs a GPU and CuPy)
# make bench      benchmarks into benchmarks/results/
# make quality    AUPR on public data sets (needs them beside the checkout); known networks
# make docs       regenerate what is generated: schema, config/README.md
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CORES ?= $(shell nproc 2>/dev/null || echo 2)

.DELETE_ON_ERROR:
.PHONY: demo setup test lint types unit workflow-lint gpu-test bench quality docs clean

demo: setup
	$(BIN)/snakemake --cores $(CORES)
	@echo
	@echo "Done. Open this page in a browser: $(CURDIR)/results/demo/report.html"

setup: $(VENV)/.stamp

$(VENV)/.stamp: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "pairtile: found $$($(PYTHON) --version); expected Python 3.11 or later (make PYTHON=python3.12 ...)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.stamp-test: $(VENV)/.stamp
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@

test: $(VENV)/.stamp-test lint types unit

lint: $(VENV)/.stamp-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint

types: $(VENV)/.stamp-test
	$(BIN)/mypy

unit: $(VENV)/.stamp-test
	$(BIN)/python -m pytest -n $(CORES) --dist loadfile tests workflow/pairtile

# On a machine with a GPU, with whatever Python has CuPy (make gpu-test BIN=/usr/bin).
gpu-test:
	$(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON)) -m pytest -m gpu tests

bench:
	$(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON)) -m benchmarks

quality: $(VENV)/.stamp
	$(BIN)/python -m benchmarks.bench_quality
	$(BIN)/python -m benchmarks.bench_recovery
	$(BIN)/python -m benchmarks.bench_planted_modes

docs: $(VENV)/.stamp
	$(BIN)/python -m pairtile.config.describe

clean:
	rm -rf results .snakemake build .pytest_cache .mypy_cache .ruff_cache
