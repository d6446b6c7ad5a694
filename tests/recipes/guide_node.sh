#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/guides/node.md, played with the module of this build.
. "${0%/*}/harness.sh"
begin_page guides/node.md

package() {
    mkdir "$here/node_modules"
    ln -s "$docs/../bindings/node" "$here/node_modules/lockkeeper"
}

is_served() { curl -s "http://127.0.0.1:$port/q1" >"$work/out"; }

recipe 'Node.js: a report is made under its lock, and a client is told what is in the way'
package
block 'The service' js | sed 's/wait: 5000/wait: 100/' >"$here/server.js"
port=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
(cd "$here" && PORT=$port exec node server.js) >"$here/said" 2>&1 </dev/null &
server=$!
until_true is_served
grep -Eqx 'report q1, token [0-9]+' "$work/out" || complain "$(cat "$work/out")"
lk acquire reports/q2 --owner ana
curl -s -w '%{http_code}' "http://127.0.0.1:$port/q2" >"$work/out"
grep -q '409$' "$work/out" && grep -q . "$work/out" || complain "not a conflict: $(cat "$work/out")"
kill "$server"
wait "$server" || complain "at its end: $(cat "$here/said")"

recipe 'Node.js: items are worked on until the signal'
package
block 'Work in the background' js >"$here/worker.js"
lk push mails 4711 'to: ana'
(cd "$here" && exec node worker.js) >"$here/said" 2>&1 </dev/null &
worker=$!
until_true grep -qx 'sends 4711 to: ana' "$here/said"
kill "$worker"
wait "$worker" || complain "at its end: $(cat "$here/said")"
lk items mails
expect_out ''
finish_page
