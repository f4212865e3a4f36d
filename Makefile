# make            the commands into bin/, the library for each MPI found into lib/
# make run        wrap examples/halo on 4 ranks; installs what is missing
# make check      what needs no MPI, and mpitrace's library under a null MPI: a minute after
#                 a small change, since Go keeps the results of all other packages
# make test       each behaviour once, on Debian's Open MPI and MPICH: 10 to 15 minutes on
#                 2 cores; installs what the tests need
# make test-all   make test, and then the other MPIs (Open MPI 5, MPICH 5, Intel MPI), the page in a
#                 browser, prebuilt libraries, sanitizers, short sweeps, applications, 5 s of each
#                 fuzz target: about 30 minutes; CI runs it
# make test-sweep every fault, 408 kills, 10^9 calls, Spark, a minute of each fuzz target: by hand
#                 before a release; it runs the parts that have not passed at this commit,
#                 at most 30 minutes each. PART=fuzz are those that begin with fuzz
# make fuzz       the fuzz targets for a minute each
# make bench      what recording costs per MPI call, and what making matrices costs
#                 (35 minutes on 2 cores); or bench-calls, bench-process (2: start, memory),
#                 bench-programs (8: LAMMPS, NetPIPE), bench-matrices (12);
#                 bench-placement, which is not one of them, compares with VieM and Scotch
# make prebuilt   the libraries that are embedded in the commands, so that they need no compiler
# make generate   the C files and the manual page, which are derived from tables
# make install    to PREFIX (/usr/local)
# make dist       packages in dist/: archives, .deb, .rpm and Python wheels, for x86-64 and aarch64
# make setup      install what test-all needs
# make clean

PREFIX ?= /usr/local
GO     ?= go
SCALE  ?= 100000

export CGO_ENABLED = 0
# Open MPI refuses to run as root, as containers do, unless told twice.
export OMPI_ALLOW_RUN_AS_ROOT = 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = 1

.PHONY: all commands library prebuilt run check test test-all test-sweep fuzz bench bench-calls bench-process bench-programs bench-matrices bench-placement generate install install-files dist setup clean

all: commands library

commands:
	$(GO) build -trimpath -o bin/ ./cmd/mpitrace ./cmd/profile2mat

# Where no MPI is found there is no library, and that is no error: mpitrace
# builds it when it is first needed.
library: commands
	@mkdir -p lib
	@bin/mpitrace build -o lib || \
	  { command -v mpicc mpicc.openmpi mpicc.mpich >/dev/null && exit 1; \
	    echo "make: no MPI here, so no library in lib/" >&2; }

# The compiled libraries that the commands embed when they are built next.
# MACHINES, such as "amd64 arm64", are those for which; without it, this one.
prebuilt:
	@scripts/setup.sh prebuilt
	$(GO) run ./interpose/prebuild "build/zig/bin/python -m ziglang" $(MACHINES)

run:
	@scripts/setup.sh run
	@$(MAKE) --no-print-directory commands
	@scripts/halo.sh

# The other packages run programs under MPIs, in a browser and in Python.
check:
	@scripts/setup.sh check
	$(GO) vet ./...
	MPITRACE_TEST_LEVEL=check $(GO) test $$($(GO) list ./... | grep -v -e /tests/e2e -e /tests/page -e /tests/python)

# The tests of the page need a browser: test-all.
test:
	@scripts/setup.sh test
	@$(MAKE) --no-print-directory commands
	$(GO) vet ./...
	MPITRACE_TEST_LEVEL=quick $(GO) test -count 1 -timeout 30m $$($(GO) list ./... | grep -v /tests/page)

# What has tests beyond level quick: tests/testenv/level.go.
beyond_quick = ./tests/e2e ./tests/page ./tests/python ./tests/nullmpi ./interpose ./internal/symbolize ./bench/calls ./bench/process

test-all: test
	@scripts/setup.sh all
	@$(MAKE) --no-print-directory prebuilt
	@$(MAKE) --no-print-directory commands
	MPITRACE_TEST_LEVEL=all $(GO) test -count 1 -timeout 60m $(beyond_quick)
	MPITRACE_TEST_LEVEL=all $(GO) test -count 1 -run 'Formulas|Mutants' ./formats/matrixfile ./cmd/mpitrace
	GO=$(GO) scripts/fuzz.sh 5s

test-sweep:
	@scripts/setup.sh sweep
	@$(MAKE) --no-print-directory prebuilt
	@$(MAKE) --no-print-directory commands
	GO=$(GO) scripts/sweep.sh $(PART)

fuzz:
	GO=$(GO) scripts/fuzz.sh 60s

bench:
	@echo "bench-calls: what recording costs per MPI call, some 10 minutes; PEERS=\"name=/path/lib.so ...\" adds other tools"
	@echo "bench-process: what starting and ending take longer, memory, size of recordings: 2 minutes"
	@echo "bench-programs: LAMMPS and NetPIPE with and without mpitrace: 15 minutes"
	@echo "bench-matrices: reading .prof; profile2mat beside Open MPI's scripts, and on up to $(SCALE) ranks: some 12 minutes, 2 GB in \$$TMPDIR"
	@$(MAKE) --no-print-directory bench-calls bench-process bench-programs bench-matrices

# PEERS="name=/path/lib.so ..." are measured too.
bench-calls:
	@scripts/setup.sh all
	$(GO) run ./bench calls

bench-process:
	@scripts/setup.sh all
	$(GO) run ./bench process

bench-programs:
	@scripts/setup.sh bench
	$(GO) run ./bench programs

# SCALE=10000 bounds the largest job: one of 100,000 ranks takes 2 GB in $TMPDIR.
bench-matrices:
	@scripts/setup.sh all
	$(GO) test -run '^$$' -bench 'Scan' -benchtime 2s ./formats/prof
	$(GO) run ./bench matrices --scale $(SCALE)

# VIEM=/path/viem, which is built from its source: an hour with graphs of 32,768 ranks.
bench-placement:
	$(GO) run ./bench placement $(if $(VIEM),--viem $(VIEM))

generate:
	$(GO) run ./interpose/gen
	$(GO) run ./cmd/mpitrace manual > docs/mpitrace.1.new
	mv docs/mpitrace.1.new docs/mpitrace.1
	$(GO) run ./cmd/profile2mat --manual > docs/profile2mat.1.new
	mv docs/profile2mat.1.new docs/profile2mat.1
	$(GO) run ./cmd/mpitrace manual commands > docs/commands.md.new
	$(GO) run ./cmd/profile2mat --manual=markdown >> docs/commands.md.new
	mv docs/commands.md.new docs/commands.md
	$(GO) run ./cmd/mpitrace manual settings > docs/settings.md.new
	mv docs/settings.md.new docs/settings.md
	$(GO) run ./cmd/mpitrace manual schema > docs/schema.md.new
	mv docs/schema.md.new docs/schema.md

install: all install-files
	for lib in lib/libmpitrace-*.so; do \
	  test ! -e $$lib || install -m 755 $$lib $(DESTDIR)$(PREFIX)/lib || exit 1; \
	done

# BIN has the commands to install, which may be for another machine. Those in
# bin/ write the completions.
BIN = bin
share = $(DESTDIR)$(PREFIX)/share
install-files:
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/include
	install -m 644 interpose/include/mpitrace.h $(DESTDIR)$(PREFIX)/include
	install -d $(share)/man/man1
	install -m 644 docs/mpitrace.1 docs/profile2mat.1 $(share)/man/man1
	install -d $(share)/bash-completion/completions $(share)/zsh/site-functions $(share)/fish/vendor_completions.d
	for command in mpitrace profile2mat; do \
	  bin/$$command completion bash > $(share)/bash-completion/completions/$$command && \
	  bin/$$command completion zsh > $(share)/zsh/site-functions/_$$command && \
	  bin/$$command completion fish > $(share)/fish/vendor_completions.d/$$command.fish || exit 1; \
	done
	install -d $(share)/modulefiles/mpitrace
	install -m 644 packaging/modulefile $(share)/modulefiles/mpitrace/$(VERSION)
	install -m 755 $(BIN)/mpitrace $(BIN)/profile2mat $(DESTDIR)$(PREFIX)/bin

VERSION = $(shell sed -n 's/^const ToolVersion = "\(.*\)"/\1/p' interpose/layout/version.go)

# Packages in dist/ for both machines: see packaging/dist.sh.
dist: commands
	@scripts/setup.sh dist
	GO=$(GO) packaging/dist.sh $(VERSION)

setup:
	@scripts/setup.sh all

clean:
	rm -rf bin lib build dist
