#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh trouble.sh LK
#
# What can be wrong with a database: each is one clear sentence that says what to do, with its exit
# code, and nothing is half made. And what a server may be set to without anything being wrong.
# Prints TAP.
. "${0%/*}/harness.sh"

# ---- getting in ----

sql "CREATE ROLE needy LOGIN PASSWORD 'right'"
hba=$LK_TEST_SERVER/data/pg_hba.conf
{ echo 'local all needy scram-sha-256' && cat "$hba"; } >"$work/hba" && cat "$work/hba" >"$hba"
sql 'SELECT pg_reload_conf()' >"$work/out"
tries=0
while psql "host=$LK_TEST_SERVER user=needy dbname=postgres password=no" -c '' >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || break # a minute: then the first test fails
    sleep 0.1
done
ok 'a wrong password is DENIED, and is not told' \
    fails 77 '*DENIED*password*pg_hba.conf*' "postgresql://needy:secret@/postgres?$server"
ok 'so is none' fails 77 '*DENIED*password*' "postgresql://needy@/postgres?$server"
ok 'so is an unknown user' fails 77 '*DENIED*nobody-knows*' "postgresql://nobody-knows@/postgres?$server"
ok 'a missing database is UNAVAILABLE' \
    fails 69 '*UNAVAILABLE*"none"*createdb*' "postgresql://postgres@/none?$server"
ok 'so is a server that is not there' \
    fails 69 '*UNAVAILABLE*is the server there*' "postgresql://postgres@/postgres?host=$work"
ok 'so is a host that does not answer' \
    fails 69 '*UNAVAILABLE*is the server there*' 'postgresql://postgres@127.0.0.1:1/postgres'
ok 'an option that nobody knows is INVALID' \
    fails 64 '*INVALID*options*' "postgresql://postgres@/postgres?$server&colour=red"
ok 'so is a schema that is no name' \
    fails 64 '*INVALID*schema=*' "postgresql://postgres@/postgres?$server&schema=A-b"
ok 'so is a listener that is no URL' \
    fails 64 '*INVALID*listen=*' "postgresql://postgres@/postgres?$server&listen=there"
ok 'so is a URL without its slashes' fails 64 '*INVALID*postgresql://*' 'postgresql:here'

# ---- rights ----

sql 'CREATE DATABASE shop'
sql 'CREATE ROLE app LOGIN'
sql 'REVOKE CREATE ON DATABASE shop FROM public'
app="postgresql://app@/shop?$server"
ok 'who may make no schema is told who does' fails 77 '*DENIED*lk schema postgresql*' "$app"
"$lk" schema postgresql >"$work/schema.sql"
ok 'a DBA makes it with lk schema' run_file "$work/schema.sql" shop
ok 'who may not use it is told what to grant' fails 77 '*DENIED*grant*' "$app"
# The lines to grant are in the schema's own text.
sed -n 's/^-- *\(GRANT .*;\)$/\1/p' "$work/schema.sql" >"$work/grants.sql"
run_file "$work/grants.sql" shop
ok 'with what it says to grant it works' works "$app"
ok 'and changes nothing of what it is made of' \
    is "SELECT has_schema_privilege('app', 'lockkeeper', 'CREATE')" f shop

# ---- servers that are set up otherwise ----

ok 'a database that can only be read is UNAVAILABLE' fails 69 '*UNAVAILABLE*primary*' \
    "postgresql://postgres@/shop?$server&options=-cdefault_transaction_read_only%3Don"
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

ok 'a store is made on first use' works "postgresql://postgres@/postgres?$server&schema=mine"
sql 'UPDATE mine.meta SET format = 99'
ok 'a newer format that lets older programs in works' \
    works "postgresql://postgres@/postgres?$server&schema=mine"
sql 'UPDATE mine.meta SET writable_from = 99'
ok 'one that does not is UNSUPPORTED' fails 79 '*UNSUPPORTED*format 99*newer*' \
    "postgresql://postgres@/postgres?$server&schema=mine"
sql 'CREATE SCHEMA theirs'
sql 'CREATE TABLE theirs.meta (colour text)'
ok 'a schema with other tables is refused' fails 69 '*UNAVAILABLE*' \
    "postgresql://postgres@/postgres?$server&schema=theirs"
ok 'and left as it is' \
    is "SELECT count(*) FROM pg_class WHERE relnamespace = 'theirs'::regnamespace AND relkind = 'r'" 1
sql 'DROP TABLE mine.parts CASCADE'
sql 'UPDATE mine.meta SET writable_from = 1'
ok 'a store that is not whole is UNAVAILABLE' fails 69 '*UNAVAILABLE*not whole*' \
    "postgresql://postgres@/postgres?$server&schema=mine"
ok 'nobody has been made anything by failing' \
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
