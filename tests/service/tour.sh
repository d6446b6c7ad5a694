#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tour of docs/service.md, word for word; and the messages of lk serve when it is started wrongly.
. "${0%/*}/harness.sh"

sed -n '/^## In a minute/,/^## Listeners/p' "${0%/*}/../../docs/service.md" |
    sed -n '/^```sh$/,/^```$/{/^```/!p}' >"$work/tour.sh"
mkdir "$work/bin"
ln -s "$LK_PROGRAM" "$work/bin/lk"

# The processes that still run in $here.
left_behind() {
    find /proc -mindepth 2 -maxdepth 2 -name cwd -lname "$here" 2>"$work/ignored" | cut -d/ -f3
}

for shell in sh bash; do
    scenario "a minute with the service, as it is documented, in $shell"
    [ "$(wc -l <"$work/tour.sh")" -gt 15 ] || complain 'the tour is not found'
    mkdir "$work/$shell"
    here=$(cd "$work/$shell" && pwd -P)
    unset LK_STORE
    (cd "$here" && PATH=$work/bin:$PATH timeout 120 "$shell" -e "$work/tour.sh") \
        >"$work/out" 2>"$work/err"
    code=$?
    command='the tour'
    expect_code 0
    for process in $(left_behind); do
        complain "it left a process behind: $(ps -o args= -p "$process")"
        kill -KILL "$process"
    done
    for said in 'under the lease' 'the first is done' '- ana holds mydatabase/mytest, .*by hand' \
        '^mydatabase *held *exclusive *ben'; do
        grep -q -e "$said" "$work/out" || complain "it did not say: $said"
    done
    # ben waits, and holds the lease after the release, in the file too: the last two lists are
    # equal.
    [ "$(grep -c '^mydatabase .*held .*ben' "$work/out")" -eq 2 ] || complain "ben's turn"
done

scenario 'a port that is taken'
serve --listen 127.0.0.1:0 --http none --ephemeral
address=$(sed 's|lk://||' "$work/served")
lk serve --listen "$address" --http none --ephemeral
failure 69 "lk: UNAVAILABLE: *$address*in use*"
stop

scenario 'a directory that cannot be'
touch "$work/file"
lk serve --unix "$work/s" --http none --dir "$work/file/d"
[ "$code" -ne 0 ] || complain 'it started'
grep -q "$work/file/d" "$work/err" || complain 'it does not say where'
lk serve --unix "$work/s" --http none --dir "$work/file"
[ "$code" -ne 0 ] || complain 'it started'
grep -q "$work/file" "$work/err" || complain 'it does not say where'

scenario 'a file that another service keeps, and one of another format'
serve --unix "$work/s" --http none --dir "$work/d"
lk serve --unix "$work/s2" --http none --dir "$work/d"
failure 77 'lk: DENIED: another service keeps this store: */d/locks.db'
stop
sqlite3 "$work/d/locks.db" 'UPDATE lk_meta SET format = 99, writable_from = 99'
lk serve --unix "$work/s2" --http none --dir "$work/d"
failure 79 'lk: UNSUPPORTED: *format 99*knows format 1*'

scenario 'the service manager is notified of readiness, liveness, a reload and the end'
python3 - "$work/notify" >"$work/notified" <<'PYTHON' &
import socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1])
manager.settimeout(60)
notified = ""
while "STOPPING" not in notified:
    notified = manager.recv(100).decode()
    print(notified, end="", flush=True)
PYTHON
manager=$!
until_true test -S "$work/notify"
NOTIFY_SOCKET=$work/notify WATCHDOG_USEC=100000
export NOTIFY_SOCKET WATCHDOG_USEC
serve --unix "$work/s" --http none --ephemeral
unset NOTIFY_SOCKET WATCHDOG_USEC
until_true grep -qx WATCHDOG=1 "$work/notified"
kill -HUP "$served"
until_true grep -qx RELOADING=1 "$work/notified"
stop
wait "$manager"
grep -v WATCHDOG "$work/notified" | sed 's/=[0-9][0-9][0-9]*$/=N/' | tr '\n' ' ' >"$work/notified.all"
[ "$(cat "$work/notified.all")" = 'READY=1 RELOADING=1 MONOTONIC_USEC=N READY=1 STOPPING=1 ' ] ||
    complain "notified: $(cat "$work/notified.all")"

scenario 'a service manager that does not read delays no client, and is notified when it reads'
mkfifo "$work/go"
python3 - "$work/notify2" "$work/go" >"$work/notified" <<'PYTHON' &
import socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1])
manager.settimeout(60)
senders = []
def fill():
    """Sends from a new socket until there is no room. Returns how often there was."""
    sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sender.setblocking(False)
    senders.append(sender)
    count = 0
    try:
        while sender.sendto(b"FULL=1\n", sys.argv[1]):
            count += 1
    except BlockingIOError:
        return count
while fill():
    pass
print("full", flush=True)
open(sys.argv[2]).read()
notified = ""
while "STOPPING" not in notified:
    notified = manager.recv(100).decode()
    print(notified, end="", flush=True)
PYTHON
manager=$!
until_true grep -qx full "$work/notified"
NOTIFY_SOCKET=$work/notify2 WATCHDOG_USEC=100000
export NOTIFY_SOCKET WATCHDOG_USEC
serve --unix "$work/s" --http none --ephemeral
unset NOTIFY_SOCKET WATCHDOG_USEC
timeout 30 "$LK_PROGRAM" -S "lk+unix:$work/s" ls || complain 'it does not answer'
kill -HUP "$served"
timeout 30 "$LK_PROGRAM" -S "lk+unix:$work/s" ls || complain 'it does not answer after a reload'
until_true grep -q 'service manager: .* READY=1 is sent again' "$work/served.err"
: >"$work/go"
until_true grep -qx WATCHDOG=1 "$work/notified"
stop
wait "$manager"
grep -v -e WATCHDOG -e '^FULL=1$' -e '^full$' "$work/notified" | sed 's/=[0-9][0-9][0-9]*$/=N/' |
    tr '\n' ' ' >"$work/notified.all"
[ "$(cat "$work/notified.all")" = 'READY=1 RELOADING=1 MONOTONIC_USEC=N READY=1 STOPPING=1 ' ] ||
    complain "notified: $(cat "$work/notified.all")"

finish
