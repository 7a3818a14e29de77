# make run    set up, then convert a photo through the Lambda handler
# make test   set up, then lint, type-check and test
# Both work offline once they have run.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PHOTO ?= docs/images/photo.jpg

# The CPU build, on every platform: from PyPI, Linux would get gigabytes of CUDA.
TORCH := torch==2.13.0
TORCH_INDEX := https://download.pytorch.org/whl/cpu
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: run test lint lock clean

run: $(VENV)/.run
	$(BIN)/animegan convert $(PHOTO) -o out --force

test: lint
	$(BIN)/python -m pytest --cov=handler --cov-report=term-missing:skip-covered --cov-fail-under=90

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/mypy --strict handler layers infra

# Set-up in steps, each done once: torch, the locked packages, the project itself.
$(VENV)/.torch: Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name it: make PYTHON=/path/to/python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@echo "Installing PyTorch's CPU build (about 200 MB, once) …"
	$(PIP) --no-deps --index-url $(TORCH_INDEX) $(TORCH)
	@touch $@

$(VENV)/.run: $(VENV)/.torch infra/requirements.txt pyproject.toml
	$(PIP) --require-hashes -r infra/requirements.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.run tests/requirements.txt
	$(PIP) --require-hashes -r tests/requirements.txt
	@touch $@

# The lock files hold every platform's hashes, so they are made anywhere and used everywhere.
lock:
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet pip-tools==7.6.2
	for lock in layers/runtime infra tests; do \
		build/lock/bin/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras \
			--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-header --no-annotate \
			--output-file $$lock/requirements.txt $$lock/requirements.in || exit 1; done

clean:
	rm -rf $(VENV) build out *.egg-info .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
