#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: tls.sh WITH_SERVER LK
#
# Connections by TLS, and which certificates are accepted. Prints TAP.
set -u
with_server=${1:?with_server.sh}
lk=${2:?the program under test}

if [ -z "${LK_TEST_CERTIFICATES-}" ]; then # begins again beside a server with certificates
    LK_TEST_CERTIFICATES=$(mktemp -d) || exit 1
    export LK_TEST_CERTIFICATES
    trap 'rm -rf "$LK_TEST_CERTIFICATES"' EXIT
    (
        cd "$LK_TEST_CERTIFICATES" || exit 1
        for name in ours theirs; do
            openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=authority of $name" \
                -keyout "$name.key" -out "$name.pem" || exit 1
        done
        openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout key.pem -out request.pem &&
            echo subjectAltName=DNS:localhost >names &&
            openssl x509 -req -in request.pem -CA ours.pem -CAkey ours.key -CAcreateserial \
                -days 2 -extfile names -out certificate.pem
    ) >"$LK_TEST_CERTIFICATES/log" 2>&1 || {
        cat "$LK_TEST_CERTIFICATES/log" >&2
        exit 1
    }
    "$with_server" --server "--ssl-cert=$LK_TEST_CERTIFICATES/certificate.pem" \
        --server "--ssl-key=$LK_TEST_CERTIFICATES/key.pem" "$0" "$with_server" "$lk"
    exit $?
fi

. "${0%/*}/../tap.sh"
HOME=$work
export HOME
local="localhost:$LK_TEST_PORT"
ours=$LK_TEST_CERTIFICATES/ours.pem
theirs=$LK_TEST_CERTIFICATES/theirs.pem

asks() { # CODE URL
    "$lk" -S "$2" limits >"$work/out" 2>&1
    [ $? -eq "$1" ]
}

mariadb --no-defaults -u root -S "$LK_TEST_SERVER/socket" -e "
    CREATE USER guarded IDENTIFIED BY 'right' REQUIRE SSL;
    GRANT ALL ON test.* TO guarded;" || exit 1
guarded="mysql://guarded:right@$local/test"
by_address="mysql://guarded:right@127.0.0.1:$LK_TEST_PORT/test"
ok 'a user that requires TLS is refused without it' asks 77 "$guarded?ssl-mode=disabled"
ok 'nor by default' asks 77 "$guarded"
ok 'but with it' asks 0 "$guarded?ssl-mode=required"
ok 'also in capitals, as other programs write it' asks 0 "$guarded?ssl-mode=REQUIRED"
ok 'a known authority is accepted' asks 0 "$guarded?ssl-ca=$ours"
ok 'another authority is not accepted' asks 69 "$guarded?ssl-ca=$theirs"
ok 'another host name is not accepted' asks 69 \
    "$by_address?ssl-mode=verify_identity&ssl-ca=$ours"
ok 'unless the host name is not verified' asks 0 \
    "$by_address?ssl-mode=required&ssl-ca=$ours"
printf '[client]\ndisable-ssl-verify-server-cert\nssl-verify-server-cert=0\n' >"$work/.my.cnf"
ok 'what the URL demands is not undone by ~/.my.cnf' asks 69 "$guarded?ssl-ca=$theirs"
"$lk" -S "$guarded?ssl-ca=$ours" doctor >"$work/out" 2>&1
ok 'lk doctor says how' grep -q '^ssl-mode: verify-identity$' "$work/out"

finish
