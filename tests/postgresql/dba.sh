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
ok 'with 14 tables and 4 views' is \
    "SELECT count(*) FILTER (WHERE c.relkind = 'r'), count(*) FILTER (WHERE c.relkind = 'v')
     FROM pg_class AS c WHERE c.relnamespace = 'jobs'::regnamespace" '14|4' shop
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

# Its query of the oldest items.
alert=$(awk '/^```$/ { text = 0 } text; /^```sql$/ { text = ++blocks == 1 }' "${0%/*}/../../docs/dba.md" |
    sed 's/lockkeeper\./jobs./')
"$lk" -S "$store" push q later --delay 1h
ok 'the age of the oldest item, by state' is \
    "SET ROLE reader; SELECT queue, state, items, oldest_seconds BETWEEN 0 AND 600 FROM ($alert) AS oldest" 'q|ready|1|t' shop

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

# ---- the reading role ----

reads="postgresql://reader@/shop?host=$LK_TEST_SERVER&schema=jobs"
"$lk" -S "$store" acquire --owner gone --ttl 50ms over/due >"$work/out"
"$lk" -S "$store" put v text >"$work/out"
ok 'a lease is over' comes_to "SELECT DISTINCT state FROM jobs.lk_locks WHERE owner = 'gone'" expired shop
for words in ls 'show over' audit queues values 'items q' 'stats q' 'get v' doctor; do
    # shellcheck disable=SC2086 # words
    ok "a reader may $words" says 0 '*' -S "$reads" $words
done
ok 'and sees no lease that is over' [ -z "$("$lk" -S "$reads" ls over | grep gone)" ]
ok 'which nothing has swept' is "SELECT count(*) > 0 FROM jobs.requests WHERE owner = 'gone'" t shop
ok 'it may lock nothing' says 77 '*DENIED*' -S "$reads" acquire --try x

# ---- keys of roots ----

sql 'CREATE ROLE stranger LOGIN'
mkfifo "$work/keys"
psql -h "$LK_TEST_SERVER" -U stranger -Atq shop <"$work/keys" >"$work/kept" 2>&1 &
exec 8>"$work/keys"
echo "SELECT 'kept' FROM pg_advisory_lock(hashtextextended('jobs/over', 0));" >&8
ok 'another session has the key of a root' comes_to \
    "SELECT count(*) FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid
     WHERE l.locktype = 'advisory' AND a.usename = 'stranger'" 1 shop
ok 'doctor names it' says 0 '*warning: root over is kept by session * of stranger (psql*' -S "$store" doctor
exec 8>&-

# ---- whose code it is ----

sql 'CREATE ROLE mallory LOGIN; CREATE ROLE boss LOGIN CREATEROLE'
sql 'CREATE DATABASE theirs'
sql 'GRANT CREATE ON DATABASE theirs TO mallory, app'
theirs() { # ROLE [OPTION]
    echo "postgresql://$1@/theirs?host=$LK_TEST_SERVER${2-}"
}
as() { # ROLE SQL
    psql -h "$LK_TEST_SERVER" -U "$1" -Atqc "$2" theirs 2>"$work/err"
}
grants='GRANT USAGE ON SCHEMA lockkeeper TO reader; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA lockkeeper TO reader'
ok 'an application makes a store' works "$(theirs app)"
as app "$grants"
ok 'another role with rights works with it' works "$(theirs reader)"
ok 'a superuser is not lent to it' says 77 '*DENIED*schema lockkeeper belongs to app*rights of postgres*owner=ROLE*' \
    -S "$(theirs postgres)" ls
ok 'nor is a role that makes roles' says 77 '*DENIED*belongs to app*' -S "$(theirs boss)" ls
ok 'unless the URL names it' says 0 '*' -S "$(theirs postgres '&owner=app')" ls
ok 'and no other one' says 77 '*DENIED*belongs to app*' -S "$(theirs reader '&owner=mallory')" ls
ok 'doctor says whose it is' says 0 '*schema: lockkeeper, of app
*' -S "$(theirs app)" doctor
sql 'GRANT USAGE, CREATE ON SCHEMA lockkeeper TO mallory' theirs
as mallory "CREATE FUNCTION lockkeeper.now_us(text) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'"
ok 'a function that a stranger adds is refused' says 77 '*DENIED*function now_us belongs to mallory*' -S "$(theirs app)" ls
ok 'by all' says 77 '*DENIED*now_us*' -S "$(theirs reader)" acquire --try x
as mallory 'DROP FUNCTION lockkeeper.now_us(text)'
ok 'it is gone' works "$(theirs app)"
sql 'GRANT TRIGGER ON lockkeeper.requests TO mallory; CREATE SCHEMA m AUTHORIZATION mallory' theirs
as mallory "CREATE FUNCTION m.t() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
    CREATE TRIGGER t BEFORE INSERT ON lockkeeper.requests FOR EACH ROW EXECUTE FUNCTION m.t()"
ok "a stranger's trigger is refused" says 77 "*DENIED*a trigger's function t belongs to mallory*" -S "$(theirs app)" ls
sql 'DROP TRIGGER t ON lockkeeper.requests' theirs
as mallory "CREATE FUNCTION m.f(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true';
    CREATE OPERATOR m.=== (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = int8eq);
    CREATE DOMAIN m.d AS bigint CHECK (m.f(VALUE))"
condition() { # WHAT NAME CONDITION
    as mallory "CREATE TRIGGER w BEFORE UPDATE ON lockkeeper.requests FOR EACH ROW WHEN ($3)
                EXECUTE FUNCTION suppress_redundant_updates_trigger()"
    ok "nor is a $1 in a trigger's condition run" says 77 "*DENIED*a trigger's $1 $2 belongs to mallory*" \
        -S "$(theirs app)" ls
    sql 'DROP TRIGGER w ON lockkeeper.requests' theirs
}
condition function f 'm.f(NEW.id)'
condition operator === 'NEW.id OPERATOR(m.===) 1'
condition type d 'NEW.id::m.d > 1'
sql 'GRANT REFERENCES ON lockkeeper.requests TO mallory' theirs
as mallory 'CREATE TABLE m.x (id bigint REFERENCES lockkeeper.requests (id) ON DELETE CASCADE)'
ok "nor a stranger's trigger, by a deletion that cascades" says 77 \
    '*DENIED*a table that refers to the store, x, belongs to mallory*' -S "$(theirs app)" ls
sql 'DROP TABLE m.x; CREATE ROLE ana LOGIN NOINHERIT; GRANT boss TO ana' theirs
ok 'it is gone, too' says 0 '*' -S "$(theirs app)" ls
ok 'a member of a role that makes roles is not lent to it' says 77 '*DENIED*belongs to app*rights of ana*' -S "$(theirs ana)" ls
ok 'nor is a superuser behind SET ROLE' says 77 '*DENIED*belongs to app*rights of postgres*' \
    -S "$(theirs postgres '&options=-c%20role%3Dapp')" ls
sql 'DROP SCHEMA m CASCADE; DROP SCHEMA lockkeeper CASCADE' theirs
sql 'CREATE DATABASE plain'
ok "the database's owner may have a store in the schema public" \
    works "postgresql://postgres@/plain?host=$LK_TEST_SERVER&schema=public"
as mallory 'CREATE SCHEMA lockkeeper; CREATE VIEW lockkeeper.meta AS SELECT 1 / 0 AS format, 1 AS writable_from'
ok "a stranger's view is not read" says 77 '*DENIED*schema lockkeeper belongs to mallory*' -S "$(theirs postgres)" ls
as mallory 'DROP VIEW lockkeeper.meta; GRANT ALL ON SCHEMA lockkeeper TO app'
"$lk" schema postgresql >"$work/schema.sql"
run_file "$work/schema.sql" theirs
ok 'the text fills no schema of a stranger' [ $? -ne 0 ]
ok 'and says whose it is' grep -q 'schema lockkeeper belongs to mallory, and this role is postgres' "$work/err"
ok 'nor does an application' fails 77 '*DENIED*belongs to mallory*' "$(theirs app)"
sql 'DROP SCHEMA lockkeeper' theirs

# Names that a caller's search_path has in front, or that fit better, are not used: first those that fit better.
sql 'GRANT ALL ON SCHEMA public TO PUBLIC' theirs
operators() { # CONDITION of those that are left out
    as mallory "DO \$do\$
        DECLARE l text; r text; o text; types text[] := '{bigint,numeric,integer,text,oid}';
        BEGIN
            FOREACH l IN ARRAY types LOOP FOREACH r IN ARRAY types LOOP
                EXECUTE 'CREATE OR REPLACE FUNCTION public.evil(' || l || ',' || r || ') RETURNS boolean
                         LANGUAGE plpgsql AS ' || quote_literal('BEGIN RAISE ''hijacked''; END');
                FOREACH o IN ARRAY '{=,<>,>,<=,*,||}'::text[] LOOP
                    IF NOT EXISTS (SELECT FROM pg_operator AS p WHERE p.oprname = o
                                   AND p.oprleft = l::regtype AND p.oprright = r::regtype AND $1) THEN
                        EXECUTE 'CREATE OPERATOR public.' || o || ' (LEFTARG = ' || l || ', RIGHTARG = ' || r
                                || ', FUNCTION = public.evil)';
                    END IF;
                END LOOP;
            END LOOP; END LOOP;
        END \$do\$"
}
ok 'a stranger has operators that fit better' operators true
for function in 'hashtextextended(text, integer)' 'cardinality(text[])' 'format(text, name, name)' \
    'convert_to(text, text)' 'format(text, text, integer, text, text, text)'; do
    as mallory "CREATE FUNCTION public.$function RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE ''hijacked''; END'"
done
works_all() {
    works "$(theirs app)" && for words in 'push q one' 'claim --owner w q' 'renew --owner w q/one' 'retry --owner w q one' \
        'put v x' 'drop q one' 'limits live=9' ls 'show q' audit queues values "break v --reason x" doctor \
        'acquire --try --owner o held' 'acquire --owner o held' 'acquire --owner o --limit 8 many' \
        'release --owner o many' 'release --owner o held'; do
        # shellcheck disable=SC2086 # words
        says 0 '*' -S "$(theirs app)" $words || return 1
    done
}
ok 'that changes nothing' works_all
as app "CREATE SCHEMA shop CREATE TABLE jobs (id text PRIMARY KEY, sent boolean); INSERT INTO shop.jobs VALUES ('a b', false)"
ok 'nor for work in a table' says 0 'a b*' -S "$(theirs app)" work --drain --table shop.jobs --where 'NOT sent' \
    --done 'UPDATE shop.jobs SET sent = true WHERE id = :id' -- echo '{id}'
as app 'CREATE TABLE shop.numbers (id bigint PRIMARY KEY, sent boolean); INSERT INTO shop.numbers VALUES (7, false)'
ok 'whatever its ids are' says 0 '7*' -S "$(theirs app)" work --drain --table shop.numbers --where 'NOT sent' \
    --done 'UPDATE shop.numbers SET sent = true WHERE id = :id' -- echo '{id}'
ok 'then all that there are' operators "p.oprnamespace = 'public'::regnamespace"
sql 'ALTER ROLE app SET search_path = public, pg_catalog' theirs
ok 'a search_path in which others have names changes nothing' works_all
ok 'nor for SQL' [ "$(as app "SELECT lockkeeper.push('s', '1'), (lockkeeper.acquire('s/x', 'me')).outcome;
    SELECT lockkeeper.release('s/x', 'me'), lockkeeper.put('s', 'x'), lockkeeper.del('s')" | tr '\n' ' ')" = 't|granted ok|ok|ok ' ]

ok 'it is removed' is 'DROP SCHEMA jobs CASCADE' '' shop
ok 'and nothing of it stays' is 'SELECT count(*) FROM pg_class' "$before" shop

finish
