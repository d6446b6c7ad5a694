#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh errors.sh LK
#
# Errors of a database: each has its exit code and a message that says what to do, and leaves nothing
# half created. Also settings of a server that must do no harm. Prints TAP.
. "${0%/*}/harness.sh"

# ---- getting in ----

sql "CREATE ROLE needy LOGIN PASSWORD 'right'"
hba=$LK_TEST_SERVER/data/pg_hba.conf
sql 'CREATE ROLE banned LOGIN'
{ echo 'local all needy scram-sha-256' && echo 'local all banned reject' && cat "$hba"; } >"$work/hba" && cat "$work/hba" >"$hba"
sql 'SELECT pg_reload_conf()' >"$work/out"
tries=0
while psql "host=$LK_TEST_SERVER user=needy dbname=postgres password=no" -c '' >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || break # a minute: then the first test fails
    sleep 0.1
done
ok 'a wrong password is DENIED, and not printed' \
    fails 77 '*DENIED*password*pg_hba.conf*' "postgresql://needy:secret@/postgres?$server"
ok 'so is none' fails 77 '*DENIED*password*' "postgresql://needy@/postgres?$server"
ok 'so is an unknown user' fails 77 '*DENIED*unknown-user*' "postgresql://unknown-user@/postgres?$server"
ok 'so is a client refused by pg_hba.conf' \
    fails 77 '*DENIED*rejects*pg_hba.conf*' "postgresql://banned@/postgres?$server"
ok 'a missing database is UNAVAILABLE' \
    fails 69 '*UNAVAILABLE*"none"*createdb*' "postgresql://postgres@/none?$server"
ok 'so is a server that is not there' \
    fails 69 '*UNAVAILABLE*is the server there*' "postgresql://postgres@/postgres?host=$work"
ok 'so is a host that does not answer' \
    fails 69 '*UNAVAILABLE*is the server there*' 'postgresql://postgres@127.0.0.1:1/postgres'
ok 'an unknown option is INVALID' \
    fails 64 '*INVALID*options*' "postgresql://postgres@/postgres?$server&colour=red"
ok 'so is a schema that is no name' \
    fails 64 '*INVALID*schema=*' "postgresql://postgres@/postgres?$server&schema=A-b"
ok 'so is a listener that is no URL' \
    fails 64 '*INVALID*listen=*' "postgresql://postgres@/postgres?$server&listen=there"
ok 'so is a URL without its slashes' fails 64 '*INVALID*postgresql://*' 'postgresql:here'
# libpq's own words would tell the password, or its end as the name of a host.
for password in 'secret%' '%secret' 'secret%00' 'pass@secret' 'pass/secret' '12/secret' 'pass?secret'; do
    ok "so is a URL whose password is $password, which is not shown" \
        fails 64 '*INVALID*' "postgresql://me:$password@localhost:1/postgres"
done
ok 'nor is that of a listener' fails 64 '*INVALID*%40*' \
    "postgresql://postgres@/postgres?$server&listen=postgresql://me:pass@secret@localhost:1/postgres"
ok 'nor what is no option' fails 64 '*INVALID*options*' "postgresql://postgres@/postgres?$server&secret"
# The server here speaks no TLS; for this message it is enough to say that one does.
python3 -c 'import socket
server = socket.create_server(("127.0.0.1", 0))
server.settimeout(60)
print(server.getsockname()[1], flush=True)
client = server.accept()[0]
client.recv(8)
client.sendall(b"S")
client.recv(1)' >"$work/port" &
willing=$!
until [ -s "$work/port" ]; do
    kill -0 "$willing" || break
    sleep 0.02
done
ok 'a certificate that is missing is named' fails 69 '*UNAVAILABLE*/none*' \
    "postgresql://me@127.0.0.1:$(cat "$work/port")/postgres?sslmode=verify-full&sslrootcert=/none"
wait "$willing"

# ---- rights ----

sql 'CREATE DATABASE shop'
sql 'CREATE ROLE app LOGIN'
sql 'REVOKE CREATE ON DATABASE shop FROM public'
app="postgresql://app@/shop?$server"
ok 'without the right to create a schema the message says how to get it' fails 77 '*DENIED*lk schema postgresql*' "$app"
"$lk" schema postgresql >"$work/schema.sql"
ok 'a DBA makes it with lk schema' run_file "$work/schema.sql" shop
ok 'a user without access gets the missing grants in the message' fails 77 '*DENIED*grant*' "$app"
# The lines to grant are in the schema's own text.
sed -n 's/^-- *\(GRANT .*;\)$/\1/p' "$work/schema.sql" >"$work/grants.sql"
run_file "$work/grants.sql" shop
ok 'with what it says to grant it works' works "$app"
ok 'and changes nothing of what it is made of' \
    is "SELECT has_schema_privilege('app', 'lockkeeper', 'CREATE')" f shop

# ---- servers that are set up otherwise ----

ok 'a database that can only be read is UNAVAILABLE' fails 69 '*UNAVAILABLE*primary*' \
    "postgresql://postgres@/shop?$server&options=-cdefault_transaction_read_only%3Don"
read_only="postgresql://postgres@/shop?$server&options=-cdefault_transaction_read_only%3Don"
ok 'a call that would wait fails at once' says 69 '*UNAVAILABLE*primary*' -S "$read_only" acquire --wait 10m db/late
ok 'so is a claim' says 69 '*UNAVAILABLE*primary*' -S "$read_only" claim --owner me --wait 10m mail
ok 'and nothing is made there' fails 69 '*UNAVAILABLE*primary*' \
    "postgresql://postgres@/shop?$server&schema=unmade&options=-cdefault_transaction_read_only%3Don"
ok 'not even half' is "SELECT count(*) FROM pg_namespace WHERE nspname = 'unmade'" 0 shop
for level in 'repeatable%5C%20read' serializable; do
    ok "a default of $level does no harm" works \
        "postgresql://postgres@/shop?$server&options=-cdefault_transaction_isolation%3D$level"
done
sql "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"
ok 'a database of another encoding is UNSUPPORTED' fails 79 "*UNSUPPORTED*LATIN1*UTF8*" \
    "postgresql://postgres@/latin?$server"

# ---- stores of other programs ----

ok 'postgres:// means the same' \
    works "postgres://postgres@/postgres?$server&schema=short"
ok 'a store is made on first use' works "postgresql://postgres@/postgres?$server&schema=mine"
sql 'UPDATE mine.meta SET format = 99'
ok 'a newer format is UNSUPPORTED' fails 79 '*UNSUPPORTED*format 99*newer*' \
    "postgresql://postgres@/postgres?$server&schema=mine"
sql 'CREATE SCHEMA theirs'
sql 'CREATE TABLE theirs.meta (colour text)'
ok 'a schema with other tables is refused' fails 79 '*UNSUPPORTED*no format of Lockkeeper*' \
    "postgresql://postgres@/postgres?$server&schema=theirs"
ok 'and left as it is' \
    is "SELECT count(*) FROM pg_class WHERE relnamespace = 'theirs'::regnamespace AND relkind = 'r'" 1
sql 'DROP TABLE mine.parts CASCADE'
sql 'UPDATE mine.meta SET format = 1'
ok 'a store that is not whole is UNAVAILABLE' fails 69 '*UNAVAILABLE*incomplete*' \
    "postgresql://postgres@/postgres?$server&schema=mine"
ok 'a failed creation leaves nothing' \
    is "SELECT count(*) FROM pg_namespace WHERE nspname = 'colour'" 0

# ---- in a caller's transaction ----

url="postgresql://postgres@/postgres?$server&schema=own"
works "$url"
sql "BEGIN; CALL own.lk_tick(NULL); COMMIT" >"$work/out"
ok 'a procedure is not to be had inside a transaction' [ $? -ne 0 ]
"$lk" -S "$url" acquire --try --owner me db/t1 >"$work/out" 2>"$work/err"
ok 'the view explains itself' \
    is 'SELECT path, state, mode, owner FROM own.lk_locks' 'db/t1|held|exclusive|me'

finish
