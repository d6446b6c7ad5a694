# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# For programs that restart a store under a concurrent history (tests/conformance/concurrent): what
# they say of it, by the clock of the histories' logs.
#
#   before_us                the clock, rounded down
#   after_us                 the clock, rounded up
#   pass MS                  so many milliseconds
#   until_true COMMAND...    within a minute
#   end_process PID          kills it, and waits until it has no files open any more
#   run_on DIRECTORY COMMAND [ARGUMENT...]
#                            {store} in an argument is replaced by the directory
#   restarted GONE BACK KEPT TAKEN [unnoticed]
#                            the store went after GONE and was back before BACK, in a state that has
#                            all that was answered before KEPT and nothing that was called after
#                            TAKEN; unnoticed: it does not know of it, and gives no grace (R11)

before_us() {
    read -r up _ </proc/uptime
    echo "${up%.*}${up#*.}0000"
}

after_us() {
    echo $(($(before_us) + 10000))
}

pass() {
    sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
}

until_true() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ "$tries" -lt 1200 ] || return 1
        sleep 0.05
    done
}

restarted() {
    echo "restart $*"
}

# shellcheck disable=SC2317 # called by until_true
is_gone() { # it, or all of it but what its parent has to collect
    ! kill -0 "$1" 2>/dev/null || grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null
}

end_process() {
    kill -9 "$1"
    until_true is_gone "$1"
}

run_on() {
    directory=$1
    shift
    arguments_left=$#
    while [ "$arguments_left" -gt 0 ]; do
        argument=$1
        shift
        case $argument in
        *'{store}'*) argument=${argument%%'{store}'*}$directory${argument#*'{store}'} ;;
        esac
        set -- "$@" "$argument"
        arguments_left=$((arguments_left - 1))
    done
    "$@"
}
