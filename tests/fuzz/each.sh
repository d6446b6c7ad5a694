#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: each.sh BUILD_DIRECTORY
#
# Every target runs under the options of tools/fuzz, for a second. The driver of the other tests
# here is compiled with other ones, and does not see what clang's sanitizers end a program for.
. "${0%/*}/../tap.sh"
FUZZ_BUILD=$1
export FUZZ_BUILD
root=${0%/*}/../..

"$root/tools/fuzz" each 1 >"$work/out" 2>"$work/err"
for corpus in "$root"/tests/fuzz/corpus/*; do
    target=${corpus##*/}
    ok "$target runs" grep -qxF "ok - $target" "$work/out"
done
finish
