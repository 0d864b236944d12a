# Every target sets up what it needs: a virtual environment in .venv, keyed on the text of pyproject.toml, so the
# network is needed once. ARGS are passed on:  make run ARGS="--policy readindex --time 60 --seed 7"
#
# make ends in 2 whenever a recipe fails. For Lantern's own exit codes call .venv/bin/lantern.

SHELL := bash
BIN := .venv/bin
READY := .venv/ready-$(shell cksum < pyproject.toml | cut -d ' ' -f 1)

.PHONY: run test check bench soak

run: $(READY)
	@$(BIN)/lantern run $(ARGS)

test: $(READY)
	@$(BIN)/pytest -n 3 --dist worksteal $(ARGS)

check: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(READY)
	@$(BIN)/python bench/reads.py $(ARGS)

soak: $(READY)
	@$(BIN)/pytest -m soak
	@$(BIN)/python tests/soak/rates.py $(ARGS)
	@$(BIN)/python tests/soak/replays.py
	@$(BIN)/python tests/soak/rules.py

$(READY): scripts/venv
	@scripts/venv .venv
	@rm -f .venv/ready-* && touch $@
