#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: man.sh PAGE...
#
# The manual pages as they are installed: well formed, one for each command, and each with every
# option and exit code of its command.
. "${0%/*}/../tap.sh"
: "${LK_PROGRAM:?is set by meson to the program under test}"
directory=${1%/*}

# mandoc's errors, and its warnings but for what scdoc writes on purpose: blank lines at paragraphs
# that it keeps empty, and dates in the form of the day.
is_well_formed() {
    mandoc -Tlint -Wwarning "$1" | grep -vE 'skipping paragraph macro|missing date|lower case' >"$work/lint"
    cat "$work/lint"
    [ ! -s "$work/lint" ]
}

read_page() {
    mandoc -Tutf8 -Owidth=1000 "$1" | sed 's/.\x08//g'
}

has_all_of_help() { # COMMAND
    read_page "$directory/lk-$1.1" >"$work/page"
    "$LK_PROGRAM" help "$1" >"$work/help"
    sed -n 's/^ *\(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p' "$work/help" >"$work/options"
    sed -n '/^Exit codes:/,$s/^ *\([0-9]*\)  .*/\1/p' "$work/help" | grep . >"$work/codes"
    [ -s "$work/options" ] && [ -s "$work/codes" ] || return 1
    while read -r option; do
        grep -qE "^ +(-., )?$option( |$)" "$work/page" || { echo "no $option"; return 1; }
    done <"$work/options"
    while read -r code; do
        grep -qE "^ +$code( |$)" "$work/page" || { echo "no $code"; return 1; }
    done <"$work/codes"
}

for page in "$@"; do
    ok "${page##*/} is well formed" is_well_formed "$page"
done
commands=$("$LK_PROGRAM" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
for command in $commands; do
    ok "lk-$command.1 has what its help has" has_all_of_help "$command"
done
read_page "$directory/lk.1" >"$work/lk"
for command in $commands; do
    ok "lk.1 names $command" grep -q "lk-$command(1)" "$work/lk"
done
says_what_is_out_of_reach() {
    read_page "$directory/lk-run.1" >"$work/page"
    grep -q '^OUT OF REACH' "$work/page" && grep -q 'the fencing token is the guard' "$work/page"
}
ok 'lk-run.1 says what is out of reach' says_what_is_out_of_reach
has_the_rules() {
    read_page "$directory/lockkeeper-rules.7" >"$work/page"
    for rule in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 19 20 22 23; do
        grep -qE "^ +R$rule [A-Z]" "$work/page" || { echo "no R$rule"; return 1; }
    done
    ! grep -qE '\*\*|`|\]\(' "$work/page"
}
ok 'lockkeeper-rules.7 has every rule, and no marks of Markdown' has_the_rules
finish
