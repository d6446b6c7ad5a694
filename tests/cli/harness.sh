# SPDX-License-Identifier: Apache-2.0
# Scenarios through the program alone: a call of `lk`, then what its exit code, stdout and stderr
# must be. Read by the other scripts here; prints TAP, one line a scenario.
#
#   scenario TITLE        begins one, on a fresh store ($LK_STORE) and without $LK_OWNER: a file, or
#                         $LK_TEST_STORES with a number behind it
#   lk ARGS...            runs the program; what came of it is checked by the next lines
#   input FORMAT [ARG]... what the next `lk` reads on stdin, by printf; otherwise nothing
#   expect_code N         its exit code
#   expect_out TEXT       stdout is exactly this line; '' for nothing
#   expect_err PATTERN    stderr is exactly one line, matching this shell pattern; '' for nothing
#   expect_number         stdout is a number on a line of its own
#   expect_keys KEYS      the keys of the object on stdout, in order, parted by spaces
#   expect FILTER VALUE   what jq makes of stdout, in its compact form
#   failure CODE PATTERN  exit code, nothing on stdout, and this on stderr
#   until_true CMD...     waits until the command succeeds; complains after a minute, stretched
#   finish                the last line of a script
#
# Times are multiplied by $stretch: it is more than 1 if a script with `env: timed` failed on a busy
# machine (tests/timed).

set -u
: "${LK_PROGRAM:?is set by meson to the program under test}"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset LK_OWNER LK_TOKEN LK_PATH LK_TTL_MS NO_COLOR
stretch=${LK_TEST_STRETCH:-1}

scenarios=0 failures=0 title='' complaints='' command='' code='' stdin=/dev/null

end_scenario() {
    [ -n "$title" ] || return 0
    if [ -z "$complaints" ]; then
        echo "ok $scenarios - $title"
    else
        echo "not ok $scenarios - $title"
        printf '%s' "$complaints" | sed 's/^/# /'
        failures=$((failures + 1))
    fi
}

scenario() {
    end_scenario
    scenarios=$((scenarios + 1)) title=$1 complaints=''
    store=$work/$scenarios.db
    LK_STORE=${LK_TEST_STORES:+$LK_TEST_STORES$scenarios}
    LK_STORE=${LK_STORE:-sqlite:$store}
    export LK_STORE
    unset LK_OWNER
}

finish() {
    end_scenario
    echo "1..$scenarios"
    [ "$failures" -eq 0 ]
    exit
}

# Makes a store of the scenario and spoils it, so that it cannot be reached any more.
damage_store() {
    lk acquire damaged
    rm -f "$store-wal" "$store-shm"
    yes damage | dd of="$store" bs=4096 seek=1 count=4 iflag=fullblock conv=notrunc status=none
}

complain() {
    complaints="$complaints$command
    $1
    code: $code  stdout: $(head -c 600 "$work/out")  stderr: $(head -c 600 "$work/err")
"
}

lk() {
    command="lk $*"
    "$LK_PROGRAM" "$@" >"$work/out" 2>"$work/err" <"$stdin"
    code=$?
    # On a busy machine a database server may need more than the two seconds after which lk says so.
    [ -z "${LK_TEST_SERVER-}" ] || sed -i '/^lk: AWAY: the store has not answered/d; /^lk: BACK: /d' "$work/err"
    stdin=/dev/null
}

input() {
    # shellcheck disable=SC2059 # the format is meant to be given
    printf "$@" >"$work/in"
    stdin=$work/in
}

expect_code() {
    [ "$code" = "$1" ] || complain "exit code: expected $1"
}

expect_out() {
    if [ -z "$1" ]; then
        [ ! -s "$work/out" ] || complain 'stdout: expected nothing'
    else
        printf '%s\n' "$1" | cmp -s - "$work/out" || complain "stdout: expected $1"
    fi
}

expect_err() {
    if [ -z "$1" ]; then
        [ ! -s "$work/err" ] || complain 'stderr: expected nothing'
        return
    fi
    [ "$(wc -l <"$work/err")" -eq 1 ] || complain 'stderr: expected one line'
    # shellcheck disable=SC2254 # the pattern is meant to be one
    case $(cat "$work/err") in
    $1) ;;
    *) complain "stderr: expected $1" ;;
    esac
}

expect_number() {
    grep -qxE '[1-9][0-9]*' "$work/out" && [ "$(wc -l <"$work/out")" -eq 1 ] \
        || complain 'stdout: expected a number'
}

expect() {
    found=$(jq -c "$1" "$work/out" 2>&1)
    [ "$found" = "$2" ] || complain "$1: expected $2, found $found"
}

expect_keys() {
    [ "$(wc -l <"$work/out")" -eq 1 ] || complain 'stdout: expected one line'
    expect 'keys_unsorted | join(" ")' "\"$1\""
}

failure() {
    expect_code "$1"
    expect_out ''
    expect_err "$2"
}

until_true() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt $((2400 * stretch)) ] || { complain "waited in vain: $*"; return; }
        sleep 0.025
    done
}

# Tokens and tickets, as the last answer with --json gave them.
field() {
    jq -r "$1" "$work/out"
}
