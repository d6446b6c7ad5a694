#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: examples.sh PROGRAM...
#
# Runs each example on a store of its own: first on a file that is not there yet, then on the same
# file again. Each program checks what came of it and says so by its exit status.
. "${0%/*}/../tap.sh"

for program in "$@"; do
    name=$(basename "$program")
    for turn in first second; do
        ok "$name, $turn run" "$program" "sqlite:$work/$name.db"
    done
done
finish
