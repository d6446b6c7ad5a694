#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh dba.sh LK
#
# What docs/dba.md tells of PostgreSQL is so: what is made, by which rights, for a schema of any name; the connections; and
# how to remove it. Prints TAP.
. "${0%/*}/harness.sh"

sql 'CREATE DATABASE shop'
sql 'CREATE ROLE app LOGIN; CREATE ROLE reader LOGIN'
before=$(sql 'SELECT count(*) FROM pg_class' shop)
store="postgresql://app@/shop?host=$LK_TEST_SERVER&schema=jobs"

ok 'an application without the rights cannot make it' fails 77 \
    '*DENIED*the schema jobs *' "$store"
command=$(sed -n "s/.*\`lk \(.*\)\`.*/\1/p" "$work/err")
ok 'the message names the command that prints it' [ "$command" = "-S 'postgresql:?schema=jobs' schema" ]
eval "\"$lk\" $command" >"$work/schema.sql"
ok 'as the page does' [ "$("$lk" -S 'postgresql://?schema=jobs' schema)" = "$(cat "$work/schema.sql")" ]
ok 'a DBA makes it, in a schema of that name' run_file "$work/schema.sql" shop
ok 'with 13 tables and 4 views' is \
    "SELECT count(*) FILTER (WHERE c.relkind = 'r'), count(*) FILTER (WHERE c.relkind = 'v')
     FROM pg_class AS c WHERE c.relnamespace = 'jobs'::regnamespace" '13|4' shop
ok 'and no other schema' is "SELECT count(*) FROM pg_namespace WHERE nspname = 'lockkeeper'" 0 shop
grep -F -- '-- GRANT' "$work/schema.sql" | sed 's/^-- //' >"$work/grants.sql"
ok 'the text names the schema in its grants' grep -q 'USAGE ON SCHEMA jobs TO app' "$work/grants.sql"
ok 'without them the same advice' fails 77 "*DENIED*denied for schema jobs*schema=jobs' schema*grants*" "$store"
ok 'which are made as it has them' run_file "$work/grants.sql" shop
ok 'then the application works with it' works "$store"
ok 'and with queues' says 0 '*' -S "$store" push q one
ok 'it may create nothing there' [ -z "$(sql 'SET ROLE app; CREATE TABLE jobs.t ()' shop)" ]
ok 'as the server says' grep -q 'permission denied for schema jobs' "$work/err"
sql 'GRANT USAGE ON SCHEMA jobs TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA jobs TO reader' shop
ok 'a reader reads the views' is 'SET ROLE reader; SELECT id, priority FROM jobs.lk_items' 'one|0' shop

connected="SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lockkeeper'"
mkfifo "$work/held"
"$lk" -S "$store" run a -- cat "$work/held" &
holder=$!
ok 'a holder' comes_to 'SELECT count(*) FROM jobs.requests WHERE held' 1 shop
ok 'has one connection' is "$connected" 1
"$lk" -S "$store" run a -- true &
waiter=$!
ok 'and a waiter two' comes_to "$connected" 3
: >"$work/held"
ok 'both end' wait "$holder" "$waiter"

# The commands of the page for this server, as they are printed; URL and PATH are placeholders.
mkdir "$work/bin"
ln -s "$(realpath "$lk")" "$work/bin/lk"
cat >"$work/bin/psql" <<STOP
#!/bin/sh
exec $(command -v psql) -h "$LK_TEST_SERVER" -U postgres "\$@"
STOP
chmod +x "$work/bin/psql"
sed -n '/^```sh$/,/^```$/{/^```/!p}' "${0%/*}/../../docs/dba.md" | grep -v mariadb |
    sed "s|URL|\"\$STORE\"|; s|PATH|a|" >"$work/page.sh"
ok 'the page has commands' grep -q 'DROP SCHEMA lockkeeper' "$work/page.sh"
ok 'which run' env PATH="$work/bin:$PATH" STORE="$store" sh -e "$work/page.sh"
ok 'and have removed one store of the two' is \
    "SELECT nspname FROM pg_namespace WHERE nspname IN ('jobs', 'lockkeeper')" jobs shop

ok 'it is removed' is 'DROP SCHEMA jobs CASCADE' '' shop
ok 'and nothing of it stays' is 'SELECT count(*) FROM pg_class' "$before" shop

finish
