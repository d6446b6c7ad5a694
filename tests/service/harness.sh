#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the scenarios here add to those of tests/cli: a service of their own.
#
#   serve ARGS...    starts one and waits until it is there; its words are in $work/served
#   stop [SIGNAL]    ends it (TERM unless named); its exit code is in $code
#   restart          kill -9, and the same again
. "${0%/*}/../cli/harness.sh"

served='' served_with=''
trap 'stop KILL; rm -rf "$work"' EXIT
export XDG_STATE_HOME="$work/state" # where a service without --dir keeps its file

serve() {
    served_with=$*
    command="lk serve $*"
    rm -f "$work/served"
    mkfifo "$work/ready"
    # shellcheck disable=SC2086 # arguments without blanks
    "$LK_PROGRAM" serve $served_with >"$work/ready" 2>"$work/served.err" &
    served=$!
    # The first line comes when the listeners are open; without one, the end of the file does. A script
    # that wants the address of HTTP beside another one sets served_lines.
    lines=$(printf '%s\n' "$@" | grep -c -e '^--listen$' -e '^--unix$')
    head -n "${served_lines:-$lines}" <"$work/ready" >"$work/served"
    rm -f "$work/ready"
    [ -s "$work/served" ] || complain "it did not start: $(cat "$work/served.err")"
}

stop() {
    [ -n "$served" ] || return 0
    kill -"${1:-TERM}" "$served" 2>/dev/null
    wait "$served" 2>/dev/null
    code=$?
    served=''
}

restart() {
    stop KILL
    # shellcheck disable=SC2086 # arguments without blanks
    serve $served_with
}
