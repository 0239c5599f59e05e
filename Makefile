# make demo       set up, run the demo, name the page to open
# make test       set up, lint, types, the tests of every change
# make test-complete  what they leave out: long tests
# make test-oldest  the tests with the oldest dependencies that pyproject.toml allows
# make wheel      build the packages into dist/, install each into a new environment, run the demo
# make test-install  the ways in of docs/install.md, in clean environments; linters of registries
# make registries  write the files for conda, Galaxy and nf-core from pyproject.toml and settings
# make sbom       list all that is locked as CycloneDX, in dist/sbom.cdx.json
# make container  build the image of Containerfile, run the demo in it (CONTAINER=docker without podman)
# make test-next-snakemake  the tests that touch Snakemake, with its main branch
# make gpu-test   tests of the CUDA kernels (needs a GPU and CuPy)
# make test-slurm  runs through a Slurm of its own on this machine (Debian or Ubuntu, root)
# make test-storage  runs from and to a pretend S3 (installs a storage plugin and moto)
# make lock       pin all dependencies with their checksums in envs/*.lock.txt
# make audit      look the pinned dependencies up in the databases of known vulnerabilities
# make test-faults  kills, full disks, lack of memory, by the hundred (an hour; full disks need root)
# make test-fuzz  tens of thousands of damaged input files and configurations
# make mutations  put plausible faults into the code, one by one: do the tests notice? (an hour)
# make nightly    test-fuzz, tests that look at nearly what others do, all examples of property tests,
#                 all architectures of CUDA, claims of error control from fewer draws
# make bench      benchmarks into benchmarks/results/
# make validity   simulate every claim of error control; docs/validity.md
# make quality    AUPR on public data sets, which it fetches; known networks
# make compare-peers  other programs, installed beside, on the same input; docs/comparison.md
# make docs       regenerate schema and config/README.md, build the documentation into site/
# make rule-graphs  draw the rules of each method into docs/images/
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CORES ?= $(shell nproc 2>/dev/null || echo 2)

.DELETE_ON_ERROR:
# Else every program of every test would compile the whole package anew.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: demo setup test lint types unit test-oldest wheel test-install registries sbom container test-next-snakemake test-slurm test-storage test-faults test-fuzz mutations nightly lock audit gpu-test bench validity quality compare-peers published docs rule-graphs clean

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

# Lint and types side by side: each takes one core.
test: $(VENV)/.stamp-test
	$(MAKE) --jobs 2 --output-sync=target lint types
	$(MAKE) unit

lint: $(VENV)/.stamp-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint
	PYTHONPATH=workflow $(BIN)/lint-imports --no-logo

types: $(VENV)/.stamp-test
	$(BIN)/mypy

# Whole files, for the fixtures of their modules, in the order of tests/conftest.py.
SHARED_OUT := -n $(CORES) --dist loadfile --no-loadscope-reorder

unit: $(VENV)/.stamp-test
	$(BIN)/python -m pytest $(SHARED_OUT) tests workflow/pairtile

# Only the files that have such tests: to read all others takes each worker twenty seconds.
test-complete: $(VENV)/.stamp-test
	$(BIN)/python -m pytest $(SHARED_OUT) -m complete \
		$$(grep -rl --include='test_*.py' 'mark\.complete' tests)

# Oldest of what pairtile names itself; tools that only test are as new as they come.
test-oldest: $(VENV)-oldest/.stamp
	$(VENV)-oldest/bin/python -m pytest $(SHARED_OUT) tests workflow/pairtile

$(VENV)-oldest/.stamp: pyproject.toml
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install --quiet uv
	$(VENV)-oldest/bin/uv pip compile --quiet --resolution lowest-direct pyproject.toml \
		--python $(VENV)-oldest/bin/python --output-file $(VENV)-oldest/oldest.txt
	$(VENV)-oldest/bin/python -m pip install --quiet --editable '.[test]' \
		--constraint $(VENV)-oldest/oldest.txt
	@touch $@

wheel: $(VENV)/.stamp
	rm -rf dist build $(VENV)-wheel
	$(BIN)/python -m pip install --quiet build twine
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*
	for package in whl tar.gz; do \
		$(PYTHON) -m venv --clear $(VENV)-wheel && \
		$(VENV)-wheel/bin/python -m pip install --quiet dist/*.$$package && \
		mkdir $(VENV)-wheel/empty && (cd $(VENV)-wheel/empty && ../bin/pairtile demo && \
		test -s results/demo/report.html) || exit 1; \
	done

# The commands of docs/install.md in clean environments, with these packages; linters of registries.
test-install: $(VENV)/.stamp-test wheel
	$(BIN)/python -m pytest -m install tests/workflow/test_install.py tests/core/test_registries.py

CONTAINER ?= podman
IMAGE ?= ghcr.io/pairtile/pairtile

container:
	$(CONTAINER) build --tag $(IMAGE) --file Containerfile .
	$(CONTAINER) run --rm $(IMAGE) demo

# What the next Snakemake will change.
test-next-snakemake: $(VENV)-next/.stamp
	$(VENV)-next/bin/python -m pytest -m "complete or not complete" tests/workflow/test_snakemake_internals.py \
		tests/workflow/test_workflow_module.py tests/workflow/test_workflow_end_to_end.py

$(VENV)-next/.stamp: pyproject.toml
	$(PYTHON) -m venv $(VENV)-next
	$(VENV)-next/bin/python -m pip install --quiet --editable '.[test]'
	$(VENV)-next/bin/python -m pip install --quiet git+https://github.com/snakemake/snakemake
	@touch $@

# On a machine with a GPU, with whatever Python has CuPy (make gpu-test BIN=/usr/bin).
gpu-test:
	HYPOTHESIS_PROFILE=complete \
		$(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON)) -m pytest -m gpu tests

# Slurm's programs come from the distribution, its plugin from the extra `slurm`.
test-slurm: $(VENV)/.stamp-test
	command -v slurmctld munged >/dev/null || { apt-get update -qq && \
		apt-get install -y -qq --no-install-recommends slurmctld slurmd slurm-client munge; }
	$(BIN)/python -m pip install --quiet --editable '.[slurm,test]'
	$(BIN)/python -m pytest -m slurm tests/workflow/test_slurm.py

# In an environment of its own: every storage plugin is loaded at each start of Snakemake.
test-storage: $(VENV)-storage/.stamp
	$(VENV)-storage/bin/python -m pytest -m storage tests

$(VENV)-storage/.stamp: pyproject.toml
	$(PYTHON) -m venv $(VENV)-storage
	$(VENV)-storage/bin/python -m pip install --quiet --editable '.[test-storage]'
	@touch $@

LOCK := uv pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 \
	--generate-hashes --no-annotate --no-emit-index-url --no-emit-find-links \
	--custom-compile-command 'make lock' --extra s3 --extra slurm

lock: $(VENV)/.stamp
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/$(LOCK) --output-file envs/requirements.lock.txt
	$(BIN)/$(LOCK) --extra cuda12 --output-file envs/requirements-cuda12.lock.txt
	sed -n 's/^requires = \["\(.*\)"\]/\1/p' pyproject.toml | $(BIN)/uv pip compile - --quiet --upgrade \
		--generate-hashes --no-annotate --no-emit-index-url --no-emit-find-links \
		--custom-compile-command 'make lock' --output-file envs/build.txt

registries: $(VENV)/.stamp
	PYTHONPATH=workflow $(BIN)/python registries/generate.py

# In an environment of its own: what lists packages needs some.
sbom:
	$(PYTHON) -m venv --clear $(VENV)-sbom
	$(VENV)-sbom/bin/python -m pip install --quiet 'cyclonedx-bom>=7,<8'
	mkdir -p dist
	$(VENV)-sbom/bin/cyclonedx-py requirements --pyproject pyproject.toml --mc-type application \
		--output-reproducible --output-file dist/sbom.cdx.json envs/requirements.lock.txt

audit: $(VENV)/.stamp
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pip-audit --strict --disable-pip --require-hashes -r envs/requirements-cuda12.lock.txt

test-faults: $(VENV)/.stamp-test
	$(BIN)/python -m pytest -m faults tests

test-fuzz: $(VENV)/.stamp-test
	HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest -n $(CORES) --timeout 3600 \
		tests/core/test_fuzz_text.py tests/core/test_fuzz_binary.py tests/core/test_fuzz_config.py \
		tests/core/test_config_fuzz.py

mutations: $(VENV)/.stamp-test
	$(BIN)/python -m benchmarks.mutations

nightly: test-fuzz
	$(BIN)/python -m pytest $(SHARED_OUT) -m nightly tests
	HYPOTHESIS_PROFILE=complete $(BIN)/python -m pytest $(SHARED_OUT) -m property tests
	PYTHONPATH=workflow $(BIN)/python -m benchmarks.validity --quick

bench:
	$(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON)) -m benchmarks

validity: $(VENV)/.stamp-test
	PYTHONPATH=workflow $(BIN)/python -m benchmarks.validity --processes $(CORES)

published: $(VENV)/.stamp
	PYTHONPATH=workflow $(BIN)/python -m benchmarks.bench_published

quality: $(VENV)/.stamp
	$(BIN)/python -m pip install --quiet rdata
	$(BIN)/python -m benchmarks.fetch_data
	$(BIN)/python -m benchmarks.bench_quality
	$(BIN)/python -m benchmarks.bench_rankings
	$(BIN)/python -m benchmarks.bench_recovery
	$(BIN)/python -m benchmarks.bench_planted_modes
	$(BIN)/python -m benchmarks.bench_bins
	$(BIN)/python -m benchmarks.bench_counts
	$(BIN)/python -m benchmarks.bench_settings

compare-peers: $(VENV)/.stamp
	PYTHONPATH=workflow $(BIN)/python -m benchmarks.peers
	[ ! -d .peers/originals ] || PYTHONPATH=workflow $(BIN)/python -m benchmarks.peers.originals

# NO_MKDOCS_2_WARNING: no advertisement of another generator.
docs: $(VENV)/.stamp
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/python -m pairtile.config.describe
	$(BIN)/python tests/support/library_keywords.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Done. Open this page in a browser: $(CURDIR)/site/index.html"

rule-graphs: $(VENV)/.stamp
	$(BIN)/python docs/rule_graphs.py

clean:
	rm -rf results site .snakemake build .pytest_cache .mypy_cache .ruff_cache
