#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: example.sh COMMAND...
#
# Runs an example on a store of its own: first on a file that is not there yet, then on the same
# file again. The program checks what came of it and says so by its exit status.
. "${0%/*}/../tap.sh"

for turn in first second; do
    ok "$turn run" "$@" "sqlite:$work/store.db"
done
finish
