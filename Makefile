# SPDX-License-Identifier: Apache-2.0
# The front door. Meson does the work (meson.build, meson_options.txt); tools/ does the rest.
BUILD   ?= build
PREFIX  ?= /usr/local
OPTIONS ?=
NAME     = lk
TESTS   ?=
DEPTH   ?= quick
MINUTES ?= 5
SEED    ?=
ENGINES ?= sqlite service service-ephemeral postgresql mysql redis redis-cluster shm
BENCHES  = model sqlite postgresql mysql redis service shm

.PHONY: all check conformance test torture demo bench $(BENCHES:%=bench-%) deb dist docs install uninstall clean format help

all:
	@tools/install-deps build
	@tools/configure $(BUILD) $(OPTIONS)
	@ninja -C $(BUILD) product
check:
	@tools/test --check $(BUILD) $(OPTIONS) $(TESTS)
conformance:
	@tools/test --conformance $(BUILD) $(OPTIONS) $(TESTS)
test:
	@tools/test --depth $(DEPTH) $(BUILD) $(OPTIONS) $(TESTS)
torture:
	@tools/install-deps test
	@tools/configure $(BUILD) -Dtests=enabled $(OPTIONS)
	@ninja -C $(BUILD)
	@tests/torture/torture.py --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(BUILD) $(ENGINES)
demo: all
	@tools/install-deps demo
	@tools/demo/run $(BUILD)/lk
bench: all
	@tools/install-deps bench
	@tools/configure $(BUILD) -Dbench=true $(OPTIONS)
	@ninja -C $(BUILD) measure
$(BENCHES:%=bench-%): bench-%: all
	@tools/install-deps bench-$*
	@tools/configure $(BUILD) -Dbench=true $(OPTIONS)
	@ninja -C $(BUILD) measure-$*
deb:
	@tools/deb $(BUILD)-deb '$(NAME)'
dist:
	@tools/dist/run dist
docs:
	@tools/install-deps docs
	@tools/docs $(BUILD)-docs/lockkeeper.html
install: all
	@tools/named --check '$(NAME)'
	@tools/configure $(BUILD) -Dprefix=$(abspath $(PREFIX)) '-Dname=$(NAME)' $(OPTIONS)
	@tools/foreign install $(BUILD) '$(NAME)' '$(DESTDIR)'
	@ninja -C $(BUILD) product
	@DESTDIR='$(DESTDIR)' meson install -C $(BUILD) --no-rebuild
uninstall:
	@tools/foreign uninstall $(BUILD)
	@ninja -C $(BUILD) uninstall
clean:
	@rm -rf $(BUILD)
format:
	@tools/format
help:
	@sed -n 's/^#: //p' Makefile | sed 's/$$(BENCHES)/$(BENCHES)/'

#: make                     builds $(BUILD)/lk and liblockkeeper; installs what building needs
#: make demo                the main job on real input: tests, a reset, a kill; draws and checks it
#: make check               the tests that a change needs before each commit, in some three minutes
#: make conformance         the scenarios of the rules on every store, with servers of their own
#: make test                tests of every kind on every store, in less than eight minutes on two
#:                          processors; the last line is `N passed, N failed`
#: make test DEPTH=full     every test in its whole length, which takes much longer
#: make torture             clients on every store while servers die, disks fill, answers are lost;
#:                          MINUTES=5 for each store, SEED=N, ENGINES='sqlite redis'
#: make bench               what things cost, beside their bars and peers, in more than an hour;
#:                          writes bench/results and docs/performance*.md; LK_BENCH=short is quick
#: make bench-ENGINE        one of $(BENCHES)
#: make install PREFIX=/x   (DESTDIR=/stage) program, library, headers, pkg-config file; NAME=lockkeeper
#:                          where another program is called lk, which is never overwritten
#: make deb                 Debian packages of all that is installed, in $(BUILD)-deb
#: make dist                what can be handed to others, in dist/: a portable tarball, a static lk, Debian
#:                          packages and those of the bindings, for x86-64 and aarch64
#: make docs                all pages as one file of HTML, in $(BUILD)-docs
#: make uninstall           removes what the last `make install` put there
#: make format              clang-format, in place
#: make clean               removes $(BUILD)
#:
#: INSTALL=no               installs no package of the system: says what is missing, and ends
#: BUILD=build              another build directory
#: OPTIONS=-Doption=value   options of the build; see meson_options.txt
#: TESTS='--suite model'    only those tests; see tests/README.md
