# Host to Device: the commands. `make` alone lists them.
#
# The first `make book` or `make test` sets everything up in .venv and book/node_modules; later ones re-use it.
# `make PYTHON=/path/to/python3.12 book` insists on that Python, also for an environment that is already there.

PYTHON ?= python3
VENV   := .venv/bin
SETUP  := tools/setup.py $(if $(filter file,$(origin PYTHON)),,--this-python)
PYTEST := $(VENV)/python -m pytest -p tests.quick_start -n auto --dist loadfile --no-loadscope-reorder \
            --nbval --nbval-current-env --nbval-sanitize-with tests/nbval-sanitize.cfg

.DEFAULT_GOAL := help
.PHONY: help book serve lab test test-all exercises public teacher slides outputs measure format lock clean set-up-book set-up-course set-up-tests

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

book: set-up-book ## build the site into _build/html
	@$(VENV)/python tools/build_book.py

serve: book ## build the site and serve it at http://localhost:8000 (PORT=8001 for another port)
	@$(VENV)/python tools/serve.py $(PORT)

lab: set-up-course ## open the notebooks in JupyterLab (ARGS="--no-browser" adds options)
	@$(VENV)/python -m jupyterlab --LabApp.default_url=/lab/tree/notebooks $(ARGS)

test: set-up-tests ## run the tests that go with every commit (ARGS="-k address" picks some)
	@$(PYTEST) -m "not slow" $(ARGS)

test-all: set-up-tests ## run the slow tests too
	@$(PYTEST) $(ARGS)

exercises: set-up-course ## make exercises/ from solutions/
	@$(VENV)/python -m authoring solutions exercises

public: set-up-book ## write the course without solutions into _build/public (ARGS="--out FOLDER" for another folder)
	@$(VENV)/python tools/courses.py public $(ARGS)

teacher: set-up-book ## write solutions, exam keys and private checks into _build/teacher (ARGS="--out FOLDER")
	@$(VENV)/python tools/courses.py teacher $(ARGS)

slides: book ## write slides of every lesson, with notes and as PDF, into _build/slides (ARGS=02 for one lesson)
	@$(VENV)/python tools/slides.py $(ARGS)

outputs: set-up-tests ## run the notebooks on the stand-in and store their outputs
	@$(VENV)/python tools/store_outputs.py

measure: set-up-course ## measure this machine for measurements/ (ARGS=--again also what is recorded)
	@$(VENV)/python -m host_to_device.measuring --to measurements $(ARGS)

format: set-up-tests ## format and lint code and notebooks, check types and imports
	@$(VENV)/python -m ruff check --fix . && $(VENV)/python -m ruff format .
	@$(VENV)/python -m mypy && $(VENV)/lint-imports --no-cache

lock: set-up-book ## resolve the pins of pyproject.toml (ARGS=--upgrade renews them, --colab tries what Colab ships)
	@$(VENV)/python tools/lock.py $(ARGS)

clean: ## remove what was built and installed
	rm -rf _build build dist *.egg-info .venv book/node_modules .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

# Quick when there is nothing to do: tools/setup.py compares stamps with the requirement files. The first line is
# for a Python that is not there, or too old even to read that file.
set-up-book set-up-course set-up-tests:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 6))' 2>/dev/null || { \
	    echo "make: $(PYTHON) is not there or too old: install Python 3.11 or newer" \
	         "(Debian and Ubuntu: sudo apt install python3 python3-venv), or name it: make PYTHON=/path/to/python3.12" >&2; \
	    exit 1; }
	@$(PYTHON) $(SETUP) $(@:set-up-%=%)
