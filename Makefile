# `make demo` and `make test` work in a fresh clone on a machine with Python 3.11 or newer.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
READY = $(VENV)/.ready

.PHONY: demo test check bench bundles docs soak dist clean

# What a user needs, and what a developer needs too.
$(BIN)/djinn: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	touch $@

# pip would compile thousands of modules that no test imports.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile -c constraints.txt -e '.[dev,all]'
	touch $(BIN)/djinn $@

demo: $(BIN)/djinn
	$(BIN)/python tools/demo.py

# The workers, and hundreds of processes that tests start, would else compile djinn each time.
test: export PYTHONDONTWRITEBYTECODE =
test: $(READY)
	$(BIN)/python -m compileall -q djinn_memory
	$(BIN)/python -m pytest -m "not soak" -n 3

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/size.py

soak: $(READY)
	$(BIN)/python -m pytest -m "soak or hypothesis" -n 3

bench: $(READY)
	$(BIN)/python benchmarks/run.py

docs: $(READY)
	$(BIN)/python tools/docs.py

# The JavaScript of pages; needs node and npm.
bundles:
	cd web && npm ci --silent && node bundle.mjs

# A wheel and an sdist.
dist: $(READY)
	$(BIN)/python -m build

clean:
	rm -rf $(VENV) .demo build dist
