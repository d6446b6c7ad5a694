# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What the scripts on a private database server share; each server's harness reads it, and adds its
# own way to run SQL. With tests/tap.sh, and the program under test as $lk, the first argument.
#
#   sql SQL [DATABASE]             as the server's administrator; its complaints are in $work/err
#   is SQL ANSWER [DATABASE]       it answers so, columns parted by |
#   comes_to SQL ANSWER [DATABASE] it does within a minute
#   soon COMMAND...                the command succeeds within a minute, or $stretch of them, if not at once
#   says CODE PATTERN ARGUMENT...  lk ends with this code, and what it says fits
#   make_store                     makes the store $LK_STORE; a command that only reads would not
#   fails CODE PATTERN URL         an ask of this store fails so: in one line that tells no secret
#   works URL                      an ask and a release of this store succeed
#   keep_root ROOT                another transaction has this root, until let_go
#   five_ask URL                   five processes ask at once, new-1 to new-5, and are granted it

lk=${1:?the program under test}
: "${LK_TEST_SERVER:?is set by with_server.sh}"
. "${0%/*}/../tap.sh"
unset LK_OWNER LK_TOKEN LK_STORE NO_COLOR
HOME=$work # and what clients keep there
export HOME

is() {
    sql "$1" "${3-}" >"$work/out"
    [ "$(tr '\t' '|' <"$work/out")" = "$2" ]
}

soon() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ "$tries" -lt $((600 * stretch)) ] || return 1
        sleep 0.1
    done
}

comes_to() {
    soon is "$@"
}

quietly() { # ARGUMENT...: lk with these, whatever it answers
    "$lk" "$@" >"$work/out" 2>"$work/err"
}

says() {
    code=$1 pattern=$2
    shift 2
    "$lk" "$@" >"$work/out" 2>"$work/err"
    [ $? -eq "$code" ] || return 1
    # shellcheck disable=SC2254 # a pattern
    case $(cat "$work/out" "$work/err") in
    $pattern) return 0 ;;
    esac
    return 1
}

make_store() {
    "$lk" limits >"$work/out" 2>"$work/err"
}

fails() {
    says "$1" "$2" -S "$3" acquire --try --owner me db/t1 &&
        [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && ! grep -q secret "$work/err"
}

works() {
    "$lk" -S "$1" acquire --try --owner me db/t1 >"$work/out" 2>"$work/err" &&
        "$lk" -S "$1" release --owner me db/t1 >"$work/out" 2>"$work/err"
}

five_ask() {
    processes=
    for i in 1 2 3 4 5; do
        "$lk" -S "$1" acquire --wait 60s --owner "new-$i" "fresh/$i" \
            >"$work/out-$i" 2>"$work/err-$i" &
        processes="$processes $!"
    done
    all_well=0
    for process in $processes; do
        wait "$process" || all_well=1
    done
    cat "$work"/out-* >"$work/out"
    cat "$work"/err-* >"$work/err"
    return "$all_well"
}

# Another transaction has this root, until let_go.
keep_root() { # ROOT
    mkfifo "$work/statements" || exit 1
    rm -f "$work/kept" # or it is read before the client empties it
    client <"$work/statements" >"$work/kept" 2>&1 &
    holder=$!
    exec 9>"$work/statements"
    lock_root "$1" >&9
    soon grep -qs "$1" "$work/kept"
}

let_go() {
    exec 9>&-
    wait "$holder"
    rm "$work/statements"
}
