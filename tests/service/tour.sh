#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The minute of docs/service.md, word for word; and what lk serve says to whoever starts it wrongly.
. "${0%/*}/harness.sh"

scenario 'a minute with the service, as it is documented'
sed -n '/^## In a minute/,/^## Doors/p' "${0%/*}/../../docs/service.md" |
    sed -n '/^```sh$/,/^```$/{/^```/!p}' >"$work/tour.sh"
[ "$(wc -l <"$work/tour.sh")" -gt 15 ] || complain 'the tour is not found'
mkdir "$work/bin" "$work/here"
ln -s "$LK_PROGRAM" "$work/bin/lk"
unset LK_STORE
(cd "$work/here" && PATH=$work/bin:$PATH timeout 120 sh -e "$work/tour.sh") \
    >"$work/out" 2>"$work/err"
code=$?
command='the tour'
expect_code 0
for said in 'under the lease' 'the first is done' '- ana holds mydatabase/mytest, .*by hand' \
    '^mydatabase *held *exclusive *ben'; do
    grep -q -e "$said" "$work/out" || complain "it did not say: $said"
done
# ben waits in line, holds it after the release, and in the file: the last two lists are alike.
[ "$(grep -c '^mydatabase .*held .*ben' "$work/out")" -eq 2 ] || complain "ben's turn"

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

scenario 'a file that another service keeps, and one of a newer program'
serve --unix "$work/s" --http none --dir "$work/d"
lk serve --unix "$work/s2" --http none --dir "$work/d"
failure 77 'lk: DENIED: another service keeps this store: */d/locks.db'
stop
sqlite3 "$work/d/locks.db" 'UPDATE meta SET format = 99, writable_from = 99'
lk serve --unix "$work/s2" --http none --dir "$work/d"
failure 79 'lk: UNSUPPORTED: *format 99*newer program*'

scenario 'the manager of services is told when the doors are open'
python3 - "$work/notify" >"$work/told" <<'PYTHON' &
import socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1])
manager.settimeout(60)
print(manager.recv(100).decode(), end="")
PYTHON
manager=$!
until_true test -S "$work/notify"
NOTIFY_SOCKET=$work/notify
export NOTIFY_SOCKET
serve --unix "$work/s" --http none --ephemeral
unset NOTIFY_SOCKET
wait "$manager"
grep -qx READY=1 "$work/told" || complain "told: $(cat "$work/told")"
stop

finish
