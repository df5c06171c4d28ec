# The entry points. CMake (CMakePresets.json) and the scripts in tools/ do the work.

SEEDS ?= 10000
FUZZ_SECONDS ?= 60
FAULT_ROUNDS ?= 200
PREFIX ?= /usr/local
SIMULATOR := build/release/tests/sim/tenure-sim

.DEFAULT_GOAL := help
.PHONY: help test build release check format tidy asan tsan fuzz bench sim faults attack kubernetes coverage install demo clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: ## Run everything: all tests, both sanitizers, the format; installs what is missing
	@tools/bootstrap
	@tools/test

build: ## Build for debugging, into build/dev
	@tools/bootstrap build test
	@cmake --preset dev && cmake --build --preset dev

release: ## Build optimised, into build/release
	@tools/bootstrap build test
	@cmake --preset release && cmake --build --preset release

check: ## Check the format, and run clang-tidy on what was changed
	@tools/bootstrap
	@tools/format && tools/tidy

format: ## Format every C++ file
	@tools/bootstrap check
	@tools/format --fix

tidy: ## Run clang-tidy on the whole tree
	@tools/bootstrap
	@tools/tidy --all

asan: ## Unit and conformance tests under AddressSanitizer and UBSan
	@tools/bootstrap
	@tools/test --only asan

tsan: ## Unit and conformance tests under ThreadSanitizer
	@tools/bootstrap
	@tools/test --only tsan

fuzz: ## Fuzz each decoder for FUZZ_SECONDS (60)
	@tools/bootstrap
	@tools/fuzz $(FUZZ_SECONDS)

bench: release ## Run the benchmarks
	@tools/bench

sim: release ## Run the simulator over SEEDS (10000)
	@[ -x $(SIMULATOR) ] || { echo "make sim: $(SIMULATOR) is not built yet"; exit 1; }
	@$(SIMULATOR) --seeds $(SEEDS)

faults: release ## Real processes and servers under faults for FAULT_ROUNDS (200) and more on Redis; the checker judges them
	@python3 tests/faults/faults.py build/release --rounds $(FAULT_ROUNDS)
	@tests/faults/long build/release

attack: release ## Attack the program: hostile peers, handlers that try to escape, hostile files and names
	@python3 tests/attack/peers.py build/release/tenure --long
	@python3 tests/attack/escapes.py build/release/tenure --long
	@python3 tests/attack/files.py build/release/tenure --long
	@python3 tests/e2e/poison_test.py build/release/tenure
	@python3 tests/e2e/hostile_test.py build/release/tenure

kubernetes: ## Run our pods on a real Kubernetes cluster in namespaces of this machine, and check them (root; 15 minutes more at first)
	@tools/bootstrap build test
	@[ -f build/program/build.ninja ] || cmake --preset program
	@cmake --build --preset program --target tenure_program
	@tools/kubernetes/test build/program/tenure

coverage: ## Measure which lines the unit and conformance tests reach
	@tools/bootstrap
	@tools/coverage

install: ## Build the library and install it below PREFIX (/usr/local)
	@tools/bootstrap build
	@cmake --preset release -DTENURE_TESTS=OFF -DTENURE_BENCH=OFF -DTENURE_EXAMPLES=OFF -B build/install
	@cmake --build build/install
	@cmake --install build/install --prefix $(PREFIX)

demo: ## Kill workers and watch their keys move; DEMO='--for 20s --script k,z,r --json' runs by itself
	@tools/bootstrap build
	@[ -f build/program/build.ninja ] || cmake --preset program
	@cmake --build --preset program --target tenure_program
	@build/program/tenure demo $(DEMO)

clean: ## Remove all that was built
	@rm -rf build
