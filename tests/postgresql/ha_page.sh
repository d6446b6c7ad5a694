#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh ha_page.sh LK
#
# The quick start of docs/ha.md, carried out as it is printed but for its ports. Prints TAP.
. "${0%/*}/harness.sh"

page=$(realpath "${0%/*}/../../docs/ha.md")
mkdir "$work/bin"
ln -s "$(realpath "$lk")" "$work/bin/lk"
PATH=$work/bin:$PATH PGHOST=$LK_TEST_SERVER PGUSER=postgres
export PATH PGHOST PGUSER

free_ports() {
    python3 -c 'import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(6)]
print(*(each.getsockname()[1] for each in sockets))'
}
# shellcheck disable=SC2046 # six words
set -- $(free_ports)
awk '/^```/ { is_open = $0 == "```sh" && !count++; next } is_open' "$page" \
    | sed "s/7431/$1/g; s/7432/$2/g; s/7433/$3/g; s/7441/$4/g; s/7442/$5/g; s/7443/$6/g" >"$work/block"

play() {
    (cd "$work" && timeout -k 5 100 sh -eu block) >"$work/out" 2>"$work/err" </dev/null
}
told() { grep -qE "$1" "$work/out"; }
logged() { grep -qE "$1" "$work/err"; }

ok 'it runs to its end' play
ok 'a lease was granted by a service that sends its clients on' told '^[1-9][0-9]+$'
ok 'a command ran under a lease' told '^under the lease$'
ok 'a service says that it follows' told '^it follows another service; '
ok 'and whom' told "^it follows .*leader: 127.0.0.1:$1\$"
ok 'its health check names the leader' told "^another service leads: 127.0.0.1:$1\$"
ok 'another one leads then' told "^it leads .*leader: 127.0.0.1:($2|$3)\$"
ok 'under another epoch' told '^it leads .*; epoch [2-9],'
ok 'the log says so' logged 'this service leads: epoch [2-9]$'
ok 'nothing is held at the end' [ "$(sql 'SELECT count(*) FROM lockkeeper_service.request' locks)" = 0 ]
finish
