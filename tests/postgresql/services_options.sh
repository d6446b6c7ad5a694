#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh services_options.sh LK
#
# lk serve --store: what it refuses, each with its exit code and a sentence that says what to do, and
# nothing changed in the database. Passwords are shown nowhere. Prints TAP.
. "${0%/*}/harness.sh"

url="postgresql://postgres@/postgres?$server"
. "${0%/*}/../procedures/services_options.sh"

untouched() {
    [ "$(sql "SELECT count(*) FROM pg_namespace WHERE nspname = 'lockkeeper_service'")" = 0 ]
}

# ---- options ----

refuses_options
ok 'the schema cannot be chosen' refuses 64 '*remove schema=*' --store "$url&schema=app"
ok 'none of them has made anything' untouched

# ---- the database ----

ok 'a server that is not there is UNAVAILABLE' \
    refuses 69 '*UNAVAILABLE*is the server there*' --store postgresql://ann:secret@127.0.0.1:1/postgres
ok 'a password with an @ is not shown' \
    refuses 64 '*INVALID*%40*' --store postgresql://ann:a@secret@127.0.0.1:1/postgres
ok 'an unknown user is DENIED' \
    refuses 77 '*DENIED*user*' --store "postgresql://stranger:secret@/postgres?$server"
sql 'CREATE ROLE app LOGIN'
ok 'so is one that may not make the tables' \
    refuses 77 '*DENIED*grant it CREATE*' --store "postgresql://app@/postgres?$server"
ok 'nothing is made' untouched

# ---- a service that starts ----

ok 'a service makes the tables and leads' start --store "postgresql://postgres:secret@/postgres?$server"
ok 'it leads' leads
ok 'its password is in no title and no log' secretless
ok 'it ends' stop
printf 'store = postgres://postgres:secret@/postgres?%s\nfailover = 2s\nadvertise = here:7420\n' \
    "$server" >"$work/conf"
ok 'a file can say all of it' start --config "$work/conf"
ok 'it leads as well' leads
ok 'its address is the one that it advertises' \
    test "$(sql 'SELECT address, lease_us FROM lockkeeper_service.leader')" = 'here:7420|2000000'
ok 'it ends as well' stop
http=127.0.0.1:0
ok 'a service with HTTP on loopback alone' start --store "$url" --advertise here:7420
ok 'leads too' leads
ok 'does not send clients of HTTP there from other machines' \
    test "$(sql 'SELECT address FROM lockkeeper_service.leader')" = 'here:7420'
ok 'ends' stop
ok 'a service that is advertised on loopback' start --store "$url" --advertise 127.0.0.1:7420
ok 'leads there' leads
ok 'sends clients of HTTP to its port' \
    test "$(sql 'SELECT address FROM lockkeeper_service.leader')" = \
    "127.0.0.1:7420 $(sed -n 's,^http://,,p' "$work/address")"
ok 'ends, too' stop
python3 -c 'import socket, time
silent = socket.create_server(("127.0.0.1", 0))
print(silent.getsockname()[1], flush=True)
time.sleep(600)' >"$work/port" &
silent=$!
until [ -s "$work/port" ]; do
    sleep 0.02
done
http=none
ok 'a host of the URL that does not answer does not keep it from the next one' \
    start --store "postgresql://postgres@/postgres?host=127.0.0.1,$LK_TEST_SERVER&port=$(cat "$work/port"),5432"
ok 'and leads at last' leads
ok 'ends as all' stop
kill "$silent"
sql 'ALTER DATABASE postgres SET default_transaction_isolation = serializable'
sql 'ALTER DATABASE postgres SET default_transaction_read_only = on'
ok 'whatever the defaults of the database are' start --store "$url"
ok 'it leads, too' leads
long=$(for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    sql "SELECT 'long/' || string_agg(md5($i || '.' || n), '') FROM generate_series(1, 3) AS n,
         generate_series(1, 5)" | sed 's,.\{120\},&/,g'
done)
# shellcheck disable=SC2086 # 16 paths
ok 'a lease on many long paths' at_service acquire $long --owner ann --ttl 60s
token=$(sql 'SELECT token FROM lockkeeper_service.request')
# shellcheck disable=SC2086
ok 'ends by its token' at_service release $long --owner ann --token "$token"
# shellcheck disable=SC2086
ok 'also when it is released again' at_service release $long --owner ann --token "$token"
ok 'which is kept once' test "$(sql 'SELECT count(*) FROM lockkeeper_service.ended')" = 1
ok 'ends as the others' stop
sql 'BEGIN READ WRITE; ALTER DATABASE postgres RESET ALL; COMMIT'
ok 'tables of another user are DENIED' \
    refuses 77 '*DENIED*lk schema postgresql-service*' --store "postgresql://app@/postgres?$server"
other_formats "$url" lockkeeper_service.leader
meets_the_next_format "$url" lockkeeper_service.leader

# ---- tables that a DBA makes ----

sql 'DROP SCHEMA lockkeeper_service CASCADE'
"$lk" schema postgresql-service >"$work/schema.sql"
ok 'a DBA makes the tables with lk schema' run_file "$work/schema.sql"
sed -n 's/^-- GRANT/GRANT/p' "$work/schema.sql" | sed 's/TO locks/TO app/' >"$work/grants.sql"
sql 'GRANT USAGE ON SCHEMA lockkeeper_service TO app;
     GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA lockkeeper_service TO app'
ok 'a user that lacks a right is DENIED before it leads' \
    refuses 77 '*DENIED*lk schema postgresql-service*' --store "postgresql://app@/postgres?$server"
ok 'so that no epoch is begun' test "$(sql 'SELECT epoch FROM lockkeeper_service.leader')" = 0
ok 'and grants what it names' run_file "$work/grants.sql"
ok 'a user without other rights is enough for a service' start --store "postgresql://app@/postgres?$server"
ok 'that leads' leads
ok 'and writes: a lock' at_service acquire a/b --owner ann --ttl 60s
ok 'a value' at_service put a/c x
ok 'an item' at_service push mails 1
ok 'and what an administrator breaks' at_service break a/b --reason test
ok 'ends as well as any' stop
sql "CREATE ROLE mallory; CREATE FUNCTION public.t() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
     ALTER FUNCTION public.t() OWNER TO mallory"
refuses_strangers "postgresql://app@/postgres?$server" \
    'CREATE TRIGGER t BEFORE INSERT ON lockkeeper_service.value FOR EACH ROW EXECUTE FUNCTION public.t()' \
    'DROP TRIGGER t ON lockkeeper_service.value'
sql 'ALTER FUNCTION lockkeeper_service.now_us() OWNER TO mallory'
ok "nor does a service run a stranger's function" refuses 77 \
    '*DENIED*the function now_us belongs to mallory*owner=ROLE*' --store "postgresql://app@/postgres?$server"
ok 'unless the URL names the role' start --store "postgresql://app@/postgres?$server&owner=mallory"
ok 'it leads' leads
ok 'and it ends' stop
finish
