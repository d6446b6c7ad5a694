# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What the scenarios here add to those of tests/service: blocks of a page, and programs to run in them.
#
#   block SECTION LANGUAGE [N]   prints the Nth (first) block of a section of $page
#   program NAME [LINE]...       makes an executable in $here: it notes its name, path and token in
#                                $here/ran, and runs the lines
#   play COMMAND...              runs it in $here; code, out and err as of `lk`
#   begin_page NAME              what follows is about docs/NAME
#   end_page                     each block of the page in a language that is played was taken by block()
#   finish_page                  the same, as the last line of a script
#
# No process that a block has started may be left when its recipe ends.
#   ran N [LINE]                 $here/ran has N lines, the last of which is LINE (a shell pattern)
. "${0%/*}/../service/harness.sh"

docs=$(cd "${0%/*}/../../docs" && pwd)
blocks=$(cd "${0%/*}" && pwd)/blocks.awk
mkdir "$work/bin"
ln -s "$LK_PROGRAM" "$work/bin/lk"
PATH=$work/bin:$PATH
export PATH

here=''

# Processes in $here, and those with the environment of the recipe, such as one that has left it.
left_behind() {
    (
        unset LK_TEST_HERE # not those that look
        {
            find /proc -mindepth 2 -maxdepth 2 -name cwd \( -lname "$here" -o -lname "$here/*" \)
            grep -lzx "LK_TEST_HERE=$here" /proc/[0-9]*/environ
        } 2>/dev/null | cut -d/ -f3 | sort -u
    )
}

is_left_alone() { [ -z "$(left_behind)" ]; }

end_recipe() {
    [ -n "$here" ] || return 0
    until_true is_left_alone
    for process in $(left_behind); do
        complain "a process is left behind: $(ps -o args= -p "$process")"
        kill -KILL "$process"
    done
}

# Each scenario has a directory of its own.
recipe() {
    end_recipe
    scenario "$1"
    here=$(cd "$work" && pwd -P)/here.$scenarios
    LK_TEST_HERE=$here
    export LK_TEST_HERE
    mkdir "$here"
    : >"$here/ran"
}

begin_page() {
    page=$docs/$1
    : >"$work/played"
}

end_page() {
    end_recipe
    here=''
    scenario 'every block of the page is played'
    awk '!is_open && /^##? / { section = $0; sub(/^##? /, "", section); split("", seen) }
        /^```/ && is_open { is_open = 0; next }
        /^```/ { is_open = 1; language = substr($0, 4); print section "|" language "|" ++seen[language] }' \
        "$page" | grep -v '||' | sort >"$work/blocks"
    [ -s "$work/blocks" ] || complain "$page: there are none"
    sort -u "$work/played" | comm -23 "$work/blocks" - >"$work/idle"
    [ ! -s "$work/idle" ] || complain "of $page: $(cat "$work/idle")"
}

finish_page() {
    end_page
    finish
}

block() {
    awk -v section="$1" -v language="$2" -v number="${3:-1}" -f "$blocks" "$page" >"$work/block"
    echo "$1|$2|${3:-1}" >>"$work/played"
    [ -s "$work/block" ] || complain "$page: $1 has no block $2 ${3:-1}"
    cat "$work/block"
}

program() {
    name=$1
    shift
    {
        echo '#!/bin/sh -e'
        echo "echo \"$name \$* \${LK_PATH-} \${LK_TOKEN:+token}\" >>'$here/ran'"
        printf '%s\n' "$@"
    } >"$here/$name"
    chmod +x "$here/$name"
}

play() {
    command="$*"
    (cd "$here" && timeout 120 "$@") >"$work/out" 2>"$work/err" </dev/null
    code=$?
}

ran() {
    [ "$(wc -l <"$here/ran")" -eq "$1" ] || complain "expected $1 runs, got: $(cat "$here/ran")"
    # shellcheck disable=SC2254 # a pattern
    case $(tail -n 1 "$here/ran") in
    ${2-}) ;;
    *) complain "the last run: $(tail -n 1 "$here/ran")" ;;
    esac
}
