#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: each.sh BUILD_DIRECTORY
#
# Every target replays its corpus under the options of tools/fuzz. The driver of the other tests
# here is compiled with other ones, and does not see what clang's sanitizers end a program for.
. "${0%/*}/../tap.sh"
FUZZ_BUILD=$1
export FUZZ_BUILD
root=${0%/*}/../..

"$root/tools/fuzz" each 0 >"$work/out" 2>"$work/err"
for corpus in "$root"/tests/fuzz/corpus/*; do
    target=${corpus##*/}
    ok "$target runs" grep -qxF "ok - $target" "$work/out"
done
finish
