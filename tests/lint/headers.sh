#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: headers.sh SOURCE_ROOT
#
# Each public header compiles alone, in both languages, by both compilers, without a warning.
set -u
cd "$1" || exit 70
number=0
status=0

compiles() { # HEADER COMPILER STANDARD LANGUAGE
    number=$((number + 1))
    what="$1 is $3 for $2"
    if printf '#include "%s"\n' "$1" |
        "$2" "-std=$3" -x "$4" -Iinclude -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
            -fsyntax-only - 2>&1 | sed 's/^/# /' | grep . ; then
        echo "not ok $number - $what"
        status=1
    else
        echo "ok $number - $what"
    fi
}

for header in $(cd include && LC_ALL=C ls lockkeeper/*.h); do
    compiles "$header" cc c17 c
    compiles "$header" clang c17 c
    compiles "$header" c++ c++17 c++
    compiles "$header" clang++ c++17 c++
done
echo "1..$number"
exit "$status"
