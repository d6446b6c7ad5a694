#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: run.sh SOURCE_ROOT CANAL_LIBRARY LK
#
# The Erlang binding, compiled by its own Makefile, without rebar3 and without a network: its EUnit
# tests, and the examples of its page.
set -u
source=$1
library=$2
export LK="$3" # for canal_tests.erl
work=$(mktemp -d "${TMPDIR:-/tmp}/lk-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
application=$work/lockkeeper_canal
export ERL_CRASH_DUMP="$work/crash" ERL_CRASH_DUMP_SECONDS=0
folder=${library%/*}
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow'

warnings="$warnings $("$source/tools/tried" -Werror cc)"

make_application() {
    # shellcheck disable=SC2046 # no word, or one
    mkdir -p "$application/ebin" "$work/tests" &&
        make -C "$source/bindings/erlang/c_src" OUT="$application/priv" WARNINGS="$warnings" \
            INCLUDES="-I$source/include" LIBS="-L$folder -Wl,-rpath,$folder -llockkeeper-canal" &&
        erlc $("$source/tools/tried" -Werror erlc) +warn_missing_spec -o "$application/ebin" "$source/bindings/erlang/src/lockkeeper_canal.erl" &&
        mkdir -p "$work/alias" &&
        erlc $("$source/tools/tried" -Werror erlc) -o "$work/alias" "$source/bindings/erlang/alias/canal.erl" &&
        erlc $("$source/tools/tried" -Werror erlc) -o "$work/tests" "$source"/tests/bindings/erlang/*.erl &&
        cp "$source/bindings/erlang/src/lockkeeper_canal.app.src" \
            "$application/ebin/lockkeeper_canal.app" &&
        grep -q "{vsn, \"$("$source/tools/version")\"}" "$application/ebin/lockkeeper_canal.app"
}

# Not where the test was started: erlc takes a file in a folder that begins as the present one does
# (`b`, `bindings`) for one below it.
cd "$work" || exit 1
if ! make_application >"$work/said" 2>&1; then
    echo 'not ok 1 - the binding compiles, without a warning, and has the version of the library'
    sed 's/^/# /' "$work/said"
    exit 1
fi
erl -noshell -pa "$application/ebin" -pa "$work/tests" -pa "$work/alias" \
    -run canal_page read "$source/bindings/erlang/README.md" \
    -run tap_listener main canal_tests canal_page
