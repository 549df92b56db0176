# Each target sets up .venv by itself; a second call is quick.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CPP := $(wildcard cpp/*/*.hpp cpp/*/*.cpp)
SOURCES := pyproject.toml CMakeLists.txt $(CPP) tests/cpp/core_tests.cpp
# Checked for phrases that are not plain English.
PROSE := docs examples README.md CHANGELOG.md CONTRIBUTING.md src cpp
# Processes that run tests at the same time.
TEST_JOBS ?= 2
# Whole solvers on the slowest instruction set; the tests of the kernels run all sets by themselves.
BASELINE_TESTS := tests/solvers/test_sequential_dual.py
# Every module of tests/trials that runs by itself; same_runs compares two checkouts.
TRIALS := $(filter-out same_runs,$(patsubst tests/trials/%.py,%,$(shell grep -l __main__ tests/trials/*.py)))
INSTALL := $(BIN)/python -m pip install -v --no-build-isolation
# The developers' build: warnings of the compiler are errors, and the core has tests of its own.
$(VENV)/built: OPTIONS := -Cbuild-dir=build/editable -Ccmake.define.MANYCLASS_WERROR=ON \
  -Ccmake.define.MANYCLASS_TESTS=ON
# What `make demo` compiles if nothing is compiled yet.
$(VENV)/built-native: OPTIONS := -Cbuild-dir=build/native -Ccmake.define.MANYCLASS_INSTRUCTION_SETS=native
STUB := src/manyclass/_core.pyi
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Installing is faster without bytecode, which is written when a module is first imported: pip reads 0 as "no".
export PIP_NO_COMPILE := 0
# Without bytecode, each of the many processes of the tests would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-rest test-all trials lint format stub measure experiments docs wheel clean

help:
	@echo "make demo     train, certify and predict on two data sets, beside LinearSVC"
	@echo "make test     the tests that are not marked slow, some of the core under sanitizers"
	@echo "make test-rest  slow tests, pages, Ray, Spark, PyTorch, baseline instructions, the core under sanitizers"
	@echo "make test-all make test, then make test-rest"
	@echo "make trials   certificates of random problems judged exactly, kills, hostile input (an hour at most)"
	@echo "make lint     ruff, mypy, import-linter, clang-format, phrases, the stub of the core"
	@echo "make stub     write the stub of the core again, after changes of the binding"
	@echo "make measure  repeat measurements of the pages that are out of date (hours; resumable); ONLY=peers: one"
	@echo "make experiments  list what reproduces the papers' figures and tables, with its time"
	@echo "make docs     the documentation, in docs/_build/html"
	@echo "make wheel    sdist and wheel in dist/, tested in a fresh environment (PYTHON=python3.12: stable ABI)"

$(VENV)/created:
	$(PYTHON) -c "import sys; sys.version_info >= (3, 11) or sys.exit('Python 3.11 or later is needed; set PYTHON=...')"
	$(PYTHON) -m venv $(VENV)
	touch $@

# The build's requirements live in .venv, so that nothing is compiled again for other packages. Groups of
# dependencies need a recent pip.
$(VENV)/with-build: $(VENV)/created pyproject.toml
	$(BIN)/python -m pip install -q --upgrade "pip>=25.1"
	$(BIN)/python -m pip install -q cmake ninja $(shell sed -n 's/^requires = \[\(.*\)\]/\1/p' pyproject.toml | tr -d ,)
	touch $@

# Python files are used in place; only the core is compiled.
$(VENV)/built $(VENV)/built-native: $(VENV)/with-build $(SOURCES)
	@echo "Compiling the core: some minutes on two cores"
	@mkdir -p build
	@set -o pipefail; NINJA_STATUS="[%f of %t, %W left] " $(INSTALL) $(OPTIONS) -e . 2>&1 | tee build/install.log \
	  | sed -n -u -E 's/^ *(\[[0-9]+ of [0-9]+, [^]]*\]).*\/([^/ ]*\/[^/ ]*)\.o$$/\1 \2/p' \
	  || { tail -n 60 build/install.log; exit 1; }
	touch $@

# One stamp for each group of dependencies of pyproject.toml.
$(VENV)/with-%: $(VENV)/built
	$(BIN)/python -m pip install -q --group $*
	touch $@

# LIBLINEAR is there as source only, with a build of its own; without it, its tests are skipped.
$(VENV)/with-test: $(VENV)/built
	$(BIN)/python -m pip install -q --group test
	-$(BIN)/python -m pip install -q liblinear-official==2.50.0
	touch $@

# Engines of clusters and PyTorch are large: without them, their tests are skipped. PySpark is built from source, in
# isolation.
$(VENV)/with-torch: $(VENV)/with-test
	-$(BIN)/python -m pip install -q torch==2.13.0 triton
	touch $@

$(VENV)/with-ray $(VENV)/with-spark: $(VENV)/with-test
	-$(BIN)/python -m pip install -q $(shell sed -n 's/^$(@F:with-%=%) = \[\(.*\)\]/\1/p' pyproject.toml | tr -d ,)
	touch $@

demo: $(VENV)/built$(if $(wildcard $(VENV)/built)$(filter-out demo,$(MAKECMDGOALS)),,-native)
	$(BIN)/manyclass demo

test: $(VENV)/with-test
	$(BIN)/python -m pytest -n $(TEST_JOBS) --dist worksteal -m "not slow" --durations 10
	bash tests/sanitize.sh $(BIN)/python quick

# What `make test` leaves out. Tests that need the packages of docs, Ray, PySpark or
# PyTorch are marked slow. Many wait for other processes: the sanitizers take the time that is left.
SANITIZERS := build/sanitizers.log
test-rest: $(VENV)/with-test $(VENV)/with-docs $(VENV)/with-ray $(VENV)/with-spark $(VENV)/with-torch
	@nice bash tests/sanitize.sh $(BIN)/python all > $(SANITIZERS) 2>&1 & sanitizers=$$!; \
	trap "kill $$sanitizers" INT; failed=0; \
	$(BIN)/python -m pytest -n $(TEST_JOBS) --dist worksteal -m slow --durations 10 || failed=1; \
	wait $$sanitizers || failed=1; cat $(SANITIZERS); exit $$failed
	MANYCLASS_INSTRUCTION_SET=baseline $(BIN)/python -m pytest -q -n $(TEST_JOBS) $(BASELINE_TESTS)
	bash tests/check_symbols.sh build/editable

test-all: test
	$(MAKE) test-rest

# All of them, whatever one finds.
trials: $(VENV)/with-test
	@failed=0; for trial in $(TRIALS); do \
	  echo "$$trial"; \
	  $(BIN)/python -m tests.trials.$$trial || failed=1; \
	done; exit $$failed

lint: $(VENV)/with-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/check_language.py $(PROSE)
	$(BIN)/clang-format --dry-run -Werror $(CPP) tests/cpp/*.cpp
	$(BIN)/python -m nanobind.stubgen -q -m manyclass._core -o build/_core.pyi
	diff -u $(STUB) build/_core.pyi || { echo "$(STUB) is stale: make stub"; exit 1; }

format: $(VENV)/with-lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP) tests/cpp/*.cpp

stub: $(VENV)/with-lint
	$(BIN)/python -m nanobind.stubgen -q -m manyclass._core -o $(STUB)

$(VENV)/peers: $(VENV)/with-bench benchmarks/peers/install.sh
	bash benchmarks/peers/install.sh $(BIN)/python
	touch $@

measure: $(VENV)/peers $(VENV)/with-test
	$(BIN)/python -m benchmarks.measure $(if $(ONLY),--only $(ONLY))

experiments: $(VENV)/with-bench
	$(BIN)/python -m experiments

docs: $(VENV)/with-docs
	$(BIN)/python docs/draw_packages.py
	$(BIN)/python -m sphinx -W -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

wheel:
	bash packaging/build_wheel.sh $(PYTHON)
	bash packaging/test_wheel.sh $(PYTHON)

clean:
	rm -rf build dist docs/_build docs/generated docs/gallery docs/command_line.md .pytest_cache .mypy_cache .ruff_cache .hypothesis
