#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: completion.bash LK COMPLETION LINE
#
# What bash would offer at the end of the line, one candidate a line: bash's own splitting of the
# line, by the word breaks it has, and the function that the completion has set.
set -u
PATH=${1%/*}:$PATH
# shellcheck source=/dev/null
source "$2"
COMP_LINE=$3
COMP_POINT=${#COMP_LINE}
COMP_WORDS=() COMP_CWORD=0

# Blanks part words; : and = are words of their own.
split() {
    local i char word='' is_in=false
    for ((i = 0; i < ${#COMP_LINE}; i++)); do
        char=${COMP_LINE:i:1}
        case $char in
        [[:space:]])
            $is_in && COMP_WORDS+=("$word")
            word='' is_in=false
            ;;
        [:=])
            $is_in && COMP_WORDS+=("$word")
            COMP_WORDS+=("$char")
            word='' is_in=false
            ;;
        *) word+=$char is_in=true ;;
        esac
    done
    COMP_WORDS+=("$word") # empty behind a blank
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
}
compopt() { :; } # works only while readline completes

split
"$(complete -p lk | sed 's/.* -F \([^ ]*\) .*/\1/')"
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
