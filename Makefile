# make run    set up, then convert a photo through the Lambda handler
# make test   set up, then lint, type-check and test
# Both work offline once they have run, and so does
# make lint-template   set up cfn-lint, sam and checkov apart from the rest, then check the stack's templates
#
# make image        build the container image (Docker); what it needs is fetched first, by make wheelhouse
# make test-image   build it and test it under Docker, also through sam; without an engine, say why not
# make test-page    test the page in headless Chromium, which root gets installed on Debian; elsewhere say why not

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LINT := .venv-lint
TEMPLATES := template.yaml $(wildcard infra/*.yaml)
PHOTO ?= docs/images/photo.jpg
EVENT ?= infra/events/http_v2.json

# The CPU build, on every platform: from PyPI, Linux would get gigabytes of CUDA.
TORCH := torch==2.13.0
TORCH_INDEX := https://download.pytorch.org/whl/cpu

# Python must be the base image's: make image BASE_IMAGE=… IMAGE_PYTHON=3.13
BASE_IMAGE ?= public.ecr.aws/lambda/python:3.12
IMAGE ?= animegan
IMAGE_PYTHON ?= 3.12
IMAGE_ARCH ?= x86_64
FILLED := build/image/.$(IMAGE_PYTHON)-$(IMAGE_ARCH)

PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: run test lint lint-template wheelhouse image test-image test-page local-invoke local-api lock clean

run: $(VENV)/.run
	$(BIN)/animegan convert $(PHOTO) -o out --force

test: lint
	$(BIN)/python -m pytest --cov=handler --cov-report=term-missing:skip-covered --cov-fail-under=90

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/mypy --strict handler layers infra

# Without an account: sam only wants to know a region, which the templates don't name.
lint-template: export AWS_DEFAULT_REGION = eu-central-1
lint-template: export SAM_CLI_TELEMETRY = 0
lint-template: $(LINT)/.done
	$(LINT)/bin/cfn-lint $(TEMPLATES)
	for template in $(TEMPLATES); do $(LINT)/bin/sam validate --lint --template $$template || exit 1; done
	$(LINT)/bin/checkov --framework cloudformation --quiet --compact --skip-download --file $(TEMPLATES)

wheelhouse: $(FILLED)

$(FILLED): $(addprefix layers/runtime/,requirements.txt compiler.txt torch.sha256 wheelhouse.py) Makefile
	rm -f build/image/.*-*
	$(PYTHON) -m layers.runtime.wheelhouse --python $(IMAGE_PYTHON) --arch $(IMAGE_ARCH) \
		--torch $(TORCH) --torch-index $(TORCH_INDEX)
	@touch $@

image: wheelhouse
	docker build --network none --build-arg BASE_IMAGE=$(BASE_IMAGE) --file layers/runtime/Dockerfile --tag $(IMAGE) .

test-image: $(VENV)/.dev $(LINT)/.done
	PYTHON=$(PYTHON) tests/image/run

test-page: $(VENV)/.page
	tests/page/run

# The image as SAM builds it, and the function in it: one event, or the HTTP routes on port 3000. Needs Docker.
local-invoke local-api: export SAM_CLI_TELEMETRY = 0
local-invoke: wheelhouse $(LINT)/.done
	$(LINT)/bin/sam build
	$(LINT)/bin/sam local invoke --event $(EVENT)

local-api: wheelhouse $(LINT)/.done
	$(LINT)/bin/sam build
	infra/local-template .aws-sam/build
	$(LINT)/bin/sam local start-api --template .aws-sam/build/local.yaml --config-file $(CURDIR)/samconfig.toml

# Set-up in steps, each done once: torch, the locked packages, the project itself.
$(VENV)/.torch: Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name it: make PYTHON=/path/to/python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@echo "Installing PyTorch's CPU build (about 200 MB, once) …"
	$(PIP) --no-deps --index-url $(TORCH_INDEX) $(TORCH)
	@touch $@

# Where there is no compiler, one line says what that costs.
$(VENV)/.native: $(VENV)/.torch $(wildcard layers/native/*.cpp layers/native/*.h layers/native/*.py)
	$(BIN)/python -m layers.native.build
	@touch $@

$(VENV)/.run: $(VENV)/.torch $(VENV)/.native infra/requirements.txt pyproject.toml
	$(PIP) --require-hashes -r infra/requirements.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.run tests/requirements.txt
	$(PIP) --require-hashes -r tests/requirements.txt
	@touch $@

# On top of the tests' lock, with which this one agrees.
$(VENV)/.page: $(VENV)/.dev tests/page/requirements.txt
	$(PIP) --no-deps --require-hashes -r tests/page/requirements.txt
	@touch $@

# Without dependencies: the lock has them all, and older pips look for those of a package's extras anew.
$(LINT)/.done: infra/lint/requirements.txt
	$(PYTHON) -m venv $(LINT)
	$(LINT)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --require-hashes -r $<
	@touch $@

# The lock files hold every platform's hashes, so they are made anywhere and used everywhere.
lock:
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet pip-tools==7.6.2
	for lock in layers/runtime infra infra/lint tests tests/page; do \
		build/lock/bin/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras \
			--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-header --no-annotate \
			--output-file $$lock/requirements.txt $$lock/requirements.in || exit 1; done

clean:
	rm -rf $(VENV) $(LINT) build out layers/native/*.so *.egg-info .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
