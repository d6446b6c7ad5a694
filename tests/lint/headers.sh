#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: headers.sh SOURCE_ROOT
#
# Each public header compiles alone, in both languages, by both compilers, without a warning; by a
# compiler that has not been tried (tools/tried), without an error.
set -u
cd "$1" || exit 70
number=0
status=0

compiles() { # HEADER COMPILER STANDARD LANGUAGE
    number=$((number + 1))
    what="$1 is $3 for $2"
    warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
    if ! version=$(tools/tried "$2"); then
        what="$what, which is $version and not tried: its warnings do not count"
        warnings=-w
    fi
    # shellcheck disable=SC2086 # options
    if printf '#include "%s"\n' "$1" |
        "$2" "-std=$3" -x "$4" -Iinclude $warnings -fsyntax-only - 2>&1 | sed 's/^/# /' | grep . ; then
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
