#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: format.sh SOURCE_ROOT
#
# Formatting: the C sources as clang-format has them, the shell scripts as shellcheck likes them.
# Other versions of these two want other things: they are not asked, and the line says so.
set -u
cd "$1" || exit 70
status=0

# check NUMBER WHAT PROGRAM COMMAND...: quiet when all is well.
check() {
    number=$1
    what=$2
    program=$3
    shift 3
    if ! version=$(tools/tried "$program") && [ -n "$version" ]; then
        echo "ok $number - $what: not asked, $version is not the version for it (tools/tried)"
        return
    fi
    if said=$("$@" 2>&1); then
        echo "ok $number - $what"
    else
        printf '%s\n' "$said" | grep -E ' (error|warning|note|info): ' | sed 's/^/# /'
        echo "not ok $number - $what"
        status=1
    fi
}

scripts() {
    find tools tests .ci bench -type f ! -name '*.py' ! -name '*.[ch]' ! -name '*.awk' \
        ! -name '*.pyc' -exec grep -lE '^#!/bin/(ba)?sh' {} + | LC_ALL=C sort
}

check 1 "clang-format has nothing to change (tools/format)" clang-format tools/format --check
# Excluded is what it says of variables that a sourced file sets or uses: it does not follow them.
# shellcheck disable=SC2046 # names have no white space: shape.py
check 2 "shellcheck has nothing to say" shellcheck \
    shellcheck --severity=warning --exclude=SC1091,SC2034,SC2154 --format=gcc $(scripts)
echo "1..2"
exit "$status"
