#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: examples.sh PROGRAM...
#
# Runs each example on a store of its own: first on a file that is not there yet, then on the same
# file again. Each program checks what came of it and says so by its exit status.
set -u

directory=$(mktemp -d "${TMPDIR:-/tmp}/lk-examples-XXXXXX") || exit 70
trap 'rm -rf "$directory"' EXIT
number=0
status=0

for program in "$@"; do
    name=$(basename "$program")
    for turn in first second; do
        number=$((number + 1))
        if "$program" "sqlite:$directory/$name.db" >"$directory/output" 2>&1; then
            echo "ok $number - $name, $turn run"
        else
            sed 's/^/# /' "$directory/output"
            echo "not ok $number - $name, $turn run"
            status=1
        fi
    done
done
echo "1..$number"
exit "$status"
