#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lk top on a real terminal: a private server of tmux, which sends keys and captures the screen.
. "${0%/*}/../tap.sh"
: "${LK_PROGRAM:?is set by meson to the program under test}"

socket='' starts=0
LK_STORE=sqlite:$work/locks.db
LC_ALL=C.UTF-8
export LK_STORE LC_ALL LK_PROGRAM
unset LK_OWNER NO_COLOR TMUX

terminal() {
    tmux -S "$socket" -f /dev/null "$@"
}
trap '[ -z "$socket" ] || terminal kill-server 2>/dev/null; rm -rf "$work"' EXIT

# Waits for the pattern within the bound; prints the screen if it does not appear.
within_bound() {
    deadline=$(($(date +%s) + 60))
    until "$@"; do
        [ "$(date +%s)" -lt "$deadline" ] || {
            terminal capture-pane -p
            return 1
        }
        sleep 0.05
    done
}

screen_has() {
    terminal capture-pane -p 2>/dev/null | grep -qE -- "$1"
}
shows() {
    within_bound screen_has "$1"
}

# Starts a terminal of so many columns and lines, and in it the line; it leaves its exit code.
start() {
    starts=$((starts + 1))
    socket=$work/tmux$starts # a server of its own: one that is ending takes no new terminal
    rm -f "$work/code" "$work/before" "$work/after"
    terminal new-session -d -x "$1" -y "$2" \
        "stty -g >'$work/before'; $3; echo \$? >'$work/code'; stty -g >'$work/after'; cat"
}
stop() {
    terminal kill-server
    socket=''
}
code_is() {
    within_bound test -s "$work/after" && [ "$(cat "$work/code")" = "$1" ]
}
is_put_back() {
    cmp "$work/before" "$work/after" && ! screen_has 'PATH +STATE'
}
keys() {
    terminal send-keys "$@"
}

refused() { # CODE PATTERN COMMAND...
    expected=$1 pattern=$2
    shift 2
    "$@" >"$work/out" 2>"$work/err" </dev/null
    code=$?
    cat "$work/out" "$work/err"
    # shellcheck disable=SC2254 # the pattern is meant to be one
    case $(cat "$work/err") in
    $pattern) [ "$code" -eq "$expected" ] && [ ! -s "$work/out" ] ;;
    *) false ;;
    esac
}

"$LK_PROGRAM" acquire db/t1 --owner ana --note nightly --ttl 1h >/dev/null
"$LK_PROGRAM" acquire --queue db --owner reset --ttl 1h 2>/dev/null
"$LK_PROGRAM" acquire --queue db/t2 --owner cleo --ttl 1h 2>/dev/null

ok 'no terminal: refused' refused 64 'lk: INVALID: top needs a terminal*' "$LK_PROGRAM" top

start 80 24 '"$LK_PROGRAM" top'
ok 'the holder is shown' shows 't1 +held +exclusive .*(1h|59m[0-9]+s) +ana +nightly$'
ok 'a waiter and its blocker are shown' shows 't2 +waiting .* cleo +for reset$'
ok 'the counts' shows '1 held, 2 waiting, longest wait'
keys End
ok 'the last one is selected' shows '^cleo wants db/t2, waits for reset'
keys Enter
ok 'its chain of blockers down to the holder is shown' shows '     └─ ana holds db/t1'
keys Escape
keys Home Down
ok 'back, and on to the holder' shows '^ana holds db/t1'
keys b
ok 'a reason is asked for' shows "^break ana's lease at db/t1: it passes on at its deadline, in "
keys 'host is gone' Enter
ok 'a confirmation is asked for' shows '^y: break it'
keys y
ok 'it is broken' shows '^broken: 1 request'
ok 'the list shows the revoked lease' shows 't1 +revoked '
"$LK_PROGRAM" audit >"$work/audit"
ok 'it is in the audit' grep -q 'host is gone' "$work/audit"
keys Up b x Enter y
ok 'the reset is withdrawn' shows 't2 +held .* cleo$'
terminal resize-window -x 24 -y 5
ok 'a small window' shows '^db'
terminal resize-window -x 3 -y 1
terminal resize-window -x 100 -y 30
ok 'a large one again' shows 'WAITS FOR, NOTE'
mv "$work/locks.db" "$work/moved.db"
ok 'a store that is gone is reported' shows '^as it was .* ago: unavailable: '
ok 'and it is not created again' test ! -e "$work/locks.db"
mv "$work/moved.db" "$work/locks.db"
ok 'it is found again' shows '^lk top '
"$LK_PROGRAM" push mails 4711 >/dev/null
ok 'a queue, with the age of its oldest ready item' shows '^mails +queue +[0-9]+m?s +1 ready$'
ok 'the oldest of all queues' shows ', oldest ready item [0-9]+m?s$'
keys q
ok 'q quits' code_is 0
ok 'the terminal is put back' within_bound is_put_back
stop

"$LK_PROGRAM" serve --unix "$work/socket" --http none --ephemeral >"$work/served" 2>&1 &
service=$!
# shellcheck disable=SC2317 # called by within_bound
has_served() { "$LK_PROGRAM" -S "lk+unix:$work/socket" acquire by/service --ttl 1h --owner ana >/dev/null 2>&1; }
SERVICE=lk+unix:$work/socket
export SERVICE
ok 'a service' within_bound has_served
start 100 24 '"$LK_PROGRAM" -S "$SERVICE" top'
ok 'its lock is shown' shows 'service +held'
kill -STOP "$service"
ok 'while it does not answer, the screen says so, and how old it is' \
    shows '^as it was [0-9]+s ago: unavailable: the store has not answered yet'
ok 'what was there is still shown' shows 'service +held'
kill -CONT "$service"
ok 'until it answers' shows '^lk top '
keys q
ok 'q ends it then' code_is 0
stop
kill "$service"
wait "$service"

start 80 24 '"$LK_PROGRAM" top db'
ok 'a prefix' shows '^db/t|^.. t2'
keys C-c
ok 'ctrl-c ends it' code_is 130
ok 'the terminal is put back by it' within_bound is_put_back
stop

start 80 24 'sh -c "echo \$\$ >'"'$work/pid'"'; exec \"\$LK_PROGRAM\" top"'
ok 'before a signal' shows '^lk top'
kill -TERM "$(cat "$work/pid")"
ok 'a signal ends it' code_is 143
ok 'the terminal is put back by a signal' within_bound is_put_back
stop

start 80 24 'NO_COLOR=1 "$LK_PROGRAM" top'
ok 'without colours' shows '^lk top'
no_colour() {
    ! terminal capture-pane -p -e | grep -q "$(printf '\033')\\[3[0-7]m"
}
ok 'NO_COLOR is honoured' no_colour
stop
start 80 24 '"$LK_PROGRAM" top'
ok 'with colours' shows '^lk top'
has_colour() {
    terminal capture-pane -p -e | grep -q "$(printf '\033')\\[32m"
}
ok 'holders are green' within_bound has_colour
stop

start 80 24 'LC_ALL=C "$LK_PROGRAM" top'
ok 'branches of ASCII where there is no UTF-8' shows '^(`- |\|- |db/)'
stop
start 80 24 'TERM=dumb "$LK_PROGRAM" top 2>'"'$work/err'"
ok 'a terminal on which nothing can be drawn is refused' code_is 64
ok 'with a message' grep -q '^lk: INVALID: nothing can be drawn ' "$work/err"

finish
