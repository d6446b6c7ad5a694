#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh ha_guide.sh LK
#
# docs/guides/ha-service.md, carried out with three services on this host: its certificates, its user, its
# settings, its clients, and a leader that is killed. What needs root or systemd is only looked at. Prints TAP.
. "${0%/*}/harness.sh"

docs=$(realpath "${0%/*}/../../docs")
page=$docs/guides/ha-service.md
mkdir "$work/bin"
ln -s "$(realpath "$lk")" "$work/bin/lk"
PATH=$work/bin:$PATH
export PATH
services=''
trap 'kill -KILL $services 2>/dev/null; rm -rf "$work"' EXIT

block() { # SECTION LANGUAGE [N]: names are those of this host
    awk -v section="$1" -v language="$2" -v number="${3:-1}" -f "$docs/../tests/recipes/blocks.awk" "$page" |
        sed 's/lock[123]\.example/localhost/g' | grep .
}

has_certificates() {
    block 'Once: certificates and a user' sh >"$work/once.sh" && (cd "$work" && sh -eu once.sh) &&
        [ -s "$work/token" ]
}

# settings PORT HTTP: the file of the page, with this server and these ports.
settings() {
    block 'On each host' conf | sed "s|^store = .*|store = postgresql://postgres@/postgres?host=$LK_TEST_SERVER|
        s|0.0.0.0:7420|127.0.0.1:$1|; s|0.0.0.0:7421|127.0.0.1:$2|; s|localhost:7420|localhost:$1|
        s|/etc/lockkeeper/users|$work/users|; s|/etc/lockkeeper/service|$work/localhost|"
}

begin() { # N PORT HTTP
    settings "$2" "$3" >"$work/$1.conf"
    lk serve --config "$work/$1.conf" >"$work/$1.out" 2>"$work/$1.err" &
    services="$services $!"
    eval "service_$2=$!"
    until [ -s "$work/$1.out" ]; do
        kill -0 $! 2>/dev/null || { cat "$work/$1.err" && return 1; }
        sleep 0.05
    done
}

# The lines of a client, each port of a service in the place of its name.
client_lines() {
    block "$1" sh | sed "s/localhost,localhost,localhost/localhost:$first,localhost:$second,localhost:$third/
        s|ca=ca.crt|ca=$work/ca.crt|; s|=token|=$work/token|"
}

play_clients() {
    client_lines Clients >"$work/clients.sh"
    (cd "$work" && timeout -k 5 60 sh -eu clients.sh) >"$work/out" 2>"$work/err" </dev/null
}

leads_one() {
    grep -qx 'under the lease' "$work/out" && grep -q '^it leads the services ' "$work/out"
}

is_refused() {
    ! lk -S "lks://localhost:$first?ca=$work/ca.crt" ls 2>"$work/err" && ! lk -S "lk://localhost:$first" ls 2>"$work/err"
}

rides_through() {
    sed -n '/^export/p' "$work/clients.sh" >"$work/try.sh"
    block 'Try it, then watch it' sh | sed 's/sleep 20/sleep 8/' >>"$work/try.sh"
    (cd "$work" && timeout -k 5 90 sh -eu try.sh) >"$work/out" 2>"$work/err" </dev/null &
    trial=$!
    until grep -q '^held .* deploy ' "$work/out"; do
        kill -0 $trial 2>/dev/null || return 1
        sleep 0.05
    done
    eval "kill -KILL \$service_$first"
    wait $trial
}

# A command that installs the parts on each host belongs to a file, a user or a unit that exist elsewhere too.
is_as_elsewhere() {
    block 'On each host' sh >"$work/host.sh" && sh -n "$work/host.sh" &&
        grep -qxF "$(grep '^useradd' "$work/host.sh")" "$docs/ha.md" &&
        grep -q '^User=lockkeeper$' "$docs/../systemd/lockkeeper-ha.service.in" &&
        grep -q -- '--config /etc/lockkeeper-service.conf$' "$docs/../systemd/lockkeeper-ha.service.in"
}

# shellcheck disable=SC2046 # six words
set -- $(python3 -c 'import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(6)]
print(*(each.getsockname()[1] for each in sockets))')
first=$1 second=$2 third=$3
ok 'certificates and a user are made' has_certificates
ok 'the first service starts with the settings of the page' begin 1 "$first" "$4"
ok 'and the second' begin 2 "$second" "$5"
ok 'and the third' begin 3 "$third" "$6"
ok 'clients find the leader' play_clients
ok 'and it leads' leads_one
ok 'without the token, and without TLS, it lets no client in' is_refused
ok 'a command goes on when the leader is killed' rides_through
ok 'what is done on each host is as it is told elsewhere' is_as_elsewhere
finish
