# Host to Device: the commands. `make` alone lists them.
#
# The first `make book` or `make test` sets everything up in .venv and book/node_modules; later ones re-use it.

PYTHON ?= python3
VENV   := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help book serve lab test test-all exercises outputs format lock clean set-up-book set-up-course

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

book: set-up-book ## build the site into _build/html
	@$(VENV)/python tools/build_book.py

serve: book ## build the site and serve it at http://localhost:8000 (PORT=… for another port)
	@$(VENV)/python tools/serve.py $(PORT)

lab: set-up-course ## open the notebooks in JupyterLab
	@$(VENV)/python -m jupyter lab notebooks

test: set-up-course ## run the tests that go with every commit
	@$(VENV)/python -m pytest -n 2 --dist loadfile --nbval --nbval-current-env \
	    --nbval-sanitize-with tests/nbval-sanitize.cfg -m "not slow" $(ARGS)

test-all: set-up-course ## run the slow tests too
	@$(VENV)/python -m pytest -n 2 --dist loadfile --nbval --nbval-current-env \
	    --nbval-sanitize-with tests/nbval-sanitize.cfg $(ARGS)

exercises: set-up-course ## make exercises/ from solutions/
	@$(VENV)/python -m host_to_device.exercises solutions exercises

outputs: set-up-course ## run the notebooks on the stand-in and store their outputs
	@$(VENV)/python tools/store_outputs.py

format: set-up-course ## format and lint code and notebooks
	@$(VENV)/ruff check --fix . && $(VENV)/ruff format .

lock: set-up-course ## resolve the pins of pyproject.toml into requirements*.txt
	@$(VENV)/python tools/lock.py

clean: ## remove what was built and installed
	rm -rf _build .venv book/node_modules .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

# Quick when there is nothing to do: it compares a stamp in .venv with the requirement files.
set-up-book:
	@$(PYTHON) tools/setup.py book

set-up-course:
	@$(PYTHON) tools/setup.py course
