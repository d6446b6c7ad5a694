#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh people.sh LK
#
# SQL for people (docs/sql.md): the functions beside the program on one store, in transactions that are
# committed, rolled back and rolled back to a savepoint, at each isolation level. Prints TAP.
. "${0%/*}/harness.sh"

export LK_STORE="postgresql://app@/shop?host=$LK_TEST_SERVER"
printf 'CREATE DATABASE shop;\nCREATE ROLE app LOGIN;\n' >"$work/first.sql"
run_file "$work/first.sql"
"$lk" schema postgresql >"$work/schema.sql"
run_file "$work/schema.sql" shop
grep -F -- '-- GRANT' "$work/schema.sql" | sed 's/^-- //' >"$work/grants.sql"
run_file "$work/grants.sql" shop

# As the application, which has no other right than these grants.
sql() {
    psql -h "$LK_TEST_SERVER" -U "${sql_user:-app}" -v VERBOSITY=verbose -Atqc "$1" shop 2>"$work/err"
}

code() { # SQLSTATE SQL
    ! sql "$2" >"$work/out" && grep -q "^ERROR:  $1:" "$work/err"
}

# ---- sessions whose transactions stay open ----

# Each answers on a file of its own, what it is told line by line; `done N` when it has done so much.
begin_session() { # NAME
    mkfifo "$work/to-$1"
    psql -h "$LK_TEST_SERVER" -U app -v VERBOSITY=sqlstate -Atq shop <"$work/to-$1" \
        >"$work/from-$1" 2>&1 &
}
tell() { # SQL, to session a, until it has answered
    send "$1" && answered
}
send() {
    told=$((${told-0} + 1))
    printf '%s\n\\echo did %s\n' "$1" "$told" >&3
}
answered() {
    until grep -q "^did $told\$" "$work/from-a"; do
        sleep 0.02
    done
}
told_is() { # ANSWER: the last one
    [ "$(grep -v '^did' "$work/from-a" | tail -n 1)" = "$1" ]
}
begin_session a
exec 3>"$work/to-a"

# ---- locks ----

ok 'a lock with a limit' is "SELECT outcome, token = ticket, in_use FROM
    lockkeeper.acquire('foo', 'ann', shared_limit => 20, ttl => '10 min')" 'granted|t|1'
ok 'is seen by the program' says 0 '*foo*ann*' ls foo
ok 'one that is in the way is named' is "SELECT outcome, ahead, blockers->0->>'owner', reason
    FROM lockkeeper.acquire('foo', 'bob')" 'busy|1|ann|not granted: ann holds foo'
ok 'or is an error' code LK075 "SELECT lockkeeper.acquire('foo', 'bob', or_fail => true)"
ok 'or waits in the queue' is "SELECT outcome, blockers->0->'held' FROM
    lockkeeper.acquire('foo', 'bob', style => 'queue', note => 'by SQL')" 'waiting|true'
ok 'which the program shows' says 0 '*bob*by SQL*behind ann*' show foo
ok 'an owner that is not named is another one each time' is "SELECT count(DISTINCT
    (lockkeeper.acquire('one?limit=9')).owner) FROM generate_series(1, 3)" 3
ok 'several parts are one request' is "SELECT outcome FROM
    lockkeeper.acquire(ARRAY['db/t1', 'pool?limit=3&units=2'], 'ann')" granted
ok 'many requests are one statement' is "SELECT string_agg(a.outcome, ' ' ORDER BY n) FROM
    generate_series(1, 4) AS n, lockkeeper.acquire('row/' || n / 2, 'o' || n) AS a" \
    'granted granted busy granted'
ok 'a renewal answers the deadline' is "SELECT lockkeeper.renew('foo', 'ann', ttl => '1 hour')
    > clock_timestamp() + interval '59 min'" t
deadline=$(sql "SELECT lockkeeper.renew('foo', 'ann')")
ok 'as the store has it' is "SELECT expires = '$deadline' FROM lockkeeper.lk_locks
    WHERE owner = 'ann' AND path = 'foo'" t
token=$(sql "SELECT token FROM lockkeeper.lk_locks WHERE path = 'foo' AND owner = 'ann'")
ok 'the token ends it without the owner' is "SELECT lockkeeper.release('foo', token => $token)" ok
ok 'and the next one has it' says 0 '*held*bob*' ls foo
ok 'its end is lost then' code LK078 "SELECT lockkeeper.release('foo', token => $token)"
ok 'unless it is repeated with the owner (R3)' is "SELECT lockkeeper.release('foo', 'ann', $token)" ok
ok 'or is asked for no error' is "SELECT lockkeeper.release('foo', token => 5, or_fail => false),
    lockkeeper.renew('foo', token => 5, or_fail => false) IS NULL" 'lost|t'
ok 'a batch ends by all of its paths' is \
    "SELECT lockkeeper.release(ARRAY['pool', 'db/t1'], 'ann')" ok
ok 'a break is on record' is "SELECT lockkeeper.break('foo', 'the host is gone', now => true)" 1
ok 'with the user of the session' says 0 '*app*the host is gone*' audit

# ---- values ----

ok 'a value is text' is "SELECT lockkeeper.put('v', 'Grüße')" ok
ok 'or bytes' is "SELECT lockkeeper.put('v/b', '\\x00ff'::bytea)" ok
ok 'which are these' is "SELECT value FROM lockkeeper.get('v/b')" '\x00ff'
ok 'as the program reads it' says 0 'Grüße' get v
ok 'a lock may bring it' is "SELECT convert_from(value, 'UTF8'), in_doubt FROM
    lockkeeper.acquire('v', 'ann', with_value => true)" 'Grüße|f'
ok 'then no other owner writes it' code LK075 "SELECT lockkeeper.put('v', 'other')"
ok 'nor deletes it' is "SELECT lockkeeper.del('v', or_fail => false)" busy
ok 'a release may write it' is "SELECT lockkeeper.release('v', 'ann', value => 'new')" ok
ok 'and it is there' is "SELECT convert_from(value, 'UTF8') FROM lockkeeper.get('v')" new
ok 'until it is deleted' is "SELECT lockkeeper.del('v'), count(g.*) FROM
    (SELECT) AS x LEFT JOIN lockkeeper.get('none') AS g ON true" 'ok|0'

# ---- work ----

ok 'items are pushed' is "SELECT bool_and(lockkeeper.push('mails', n::text, 'to: ' || n))
    FROM generate_series(1, 9) AS n" t
ok 'once' is "SELECT lockkeeper.push('mails', '1'), lockkeeper.push('mails', ARRAY['1', '10'])" 'f|{f,t}'
ok 'by the program, too' says 0 '*' push mails 11 text
ok 'and claimed' is "SELECT string_agg(id || convert_from(value, 'UTF8'), ' '), count(DISTINCT token),
    max(attempt) FROM lockkeeper.claim('mails', 3, 'w')" '1to: 1 2to: 2 3to: 3|1|1'
ok 'an ask that is repeated gives the same items (R3)' is "SELECT
    (SELECT string_agg(id, ' ') FROM lockkeeper.claim('mails', 2, 'x', ask => 7)),
    (SELECT string_agg(id, ' ') FROM lockkeeper.claim('mails', 2, 'x', ask => 7))" '4 5|4 5'
token=$(sql "SELECT token FROM lockkeeper.lk_locks WHERE owner = 'w' LIMIT 1")
ok 'they are done' is "SELECT lockkeeper.done('mails', ARRAY['1', '2'], token => $token)" '{ok,ok}'
ok 'or given back, and why' is "SELECT lockkeeper.retry('mails', '3', token => $token,
    delay => '1 hour', exit_code => 5, error => 'no host')" ok
ok 'as the program says' says 0 '*3*delayed*' items mails
ok 'what is not claimed any more is lost' code LK078 "SELECT lockkeeper.done('mails', '3', token => $token)"
ok 'for all of a list' code LK078 "SELECT lockkeeper.done('mails', ARRAY['4', '3'], 'x')"
ok 'which is still claimed then' is "SELECT lockkeeper.done('mails', ARRAY['4', '3'], 'x', or_fail => false)" '{ok,lost}'
sql "SELECT lockkeeper.push('bad', '1'); SELECT lockkeeper.claim('bad', 1, 'w', max_attempts => 1);
    SELECT lockkeeper.retry('bad', '1', 'w')" >"$work/out"
ok 'an item that fails too often is parked' is "SELECT state, (SELECT count(*) FROM lockkeeper.claim('bad'))
    FROM lockkeeper.lk_items WHERE queue = 'bad'" 'parked|0'
ok 'until it is unparked, or dropped' is "SELECT lockkeeper.unpark('bad', '1'), lockkeeper.drop('bad', '1')" 'ok|ok'
sql "SELECT lockkeeper.push('bad', ARRAY['1', '2', '3']); SELECT lockkeeper.claim('bad', 2, 'w')" >"$work/out"
ok 'an item is parked at once where its worker says so' is "SELECT lockkeeper.retry('bad', '1', 'w', error => 'no such file',
    park => true, uncounted => true)" ok
ok 'with why' is "SELECT state, attempts, last_error FROM lockkeeper.lk_items WHERE queue = 'bad' AND id = '1'" \
    'parked|0|no such file'
ok 'but with no delay' code LK064 "SELECT lockkeeper.retry('bad', '2', 'w', park => true, delay => '1 s')"
ok 'as it says' grep -q 'R16: an item that is parked has no delay' "$work/err"
ok 'an item is cancelled, claimed or not' is "SELECT lockkeeper.cancel('bad', '2', 'the order was withdrawn', 'ann'),
    lockkeeper.cancel('bad', '3', 'so was this')" '1|0'
ok 'on record' says 0 '*ann*the order was withdrawn*so was this*' audit bad
ok 'a claimed one stays until its claim ends' is "SELECT id, state, claimed_by FROM lockkeeper.lk_items
    WHERE queue = 'bad' AND id > '1'" '2|cancelled|w'
ok 'as the program says' says 0 '*2*cancelled*w*' items bad
ok 'its worker is told' code LK078 "SELECT lockkeeper.renew('bad/2', 'w')"
ok 'no other worker gets it' is "SELECT lockkeeper.push('bad', '2'), lockkeeper.drop('bad', '2', or_fail => false),
    lockkeeper.retry('bad', '2', 'w'), (SELECT count(*) FROM lockkeeper.claim('bad'))" 'f|lost|ok|0'
ok 'what is gone is lost' code LK078 "SELECT lockkeeper.cancel('bad', '2', 'why')"
ok 'or asked for no error' is "SELECT lockkeeper.cancel('bad', '2', 'why', or_fail => false) IS NULL" t
sql "SELECT lockkeeper.push('bad', '4'); SELECT lockkeeper.claim('bad', 1, 'w')" >"$work/out"
ok 'a claim can be ended with it' is "SELECT lockkeeper.cancel('bad', '4', 'why', now => true), lockkeeper.push('bad', '4')" '1|t'
ok 'without a reason nothing is' code LK064 "SELECT lockkeeper.cancel('bad', '4', '')"
sql "SELECT lockkeeper.push('news', ARRAY['1', '2']); SELECT lockkeeper.claim('news', 1, 'w')" >"$work/out"
ok 'an item that is pushed again follows its claim' is "SELECT lockkeeper.push_again('news', '1', 'b'), lockkeeper.push_again('news', '1', 'c'),
    lockkeeper.push_again('news', '2', 'b'), lockkeeper.push_again('news', '3') IS NULL" 'claimed|again|ready|t'
ok 'or a list of items' is "SELECT lockkeeper.push_replace('news', ARRAY['1', '2', '3'], ARRAY['d', 'd', NULL]::bytea[], priority => -1)" \
    '{again,ready,ready}'
ok 'in the meantime it is claimed' is "SELECT id, state, claimed_by FROM lockkeeper.lk_items WHERE queue = 'news' AND id = '1'" '1|again|w'
ok 'as the program says' says 0 '*1*again*w*' items news
# ---- results ----

sql "SELECT lockkeeper.push('kept', '1', 'in', keep => '1 hour'), lockkeeper.push('kept', ARRAY['2', '3', '4'])" >"$work/out"
sql "SELECT lockkeeper.claim('kept', 4, 'w')" >"$work/out"
ok 'a progress is told' is "SELECT lockkeeper.progress('kept', '1', 'half', 'w'); SELECT progress FROM lockkeeper.lk_items
    WHERE queue = 'kept' AND id = '1'" 'ok
half'
ok 'by the claimant alone' code LK078 "SELECT lockkeeper.progress('kept', '1', 'all', 'x')"
ok 'items are done with results' is "SELECT lockkeeper.done('kept', '1', 'w', result => 'out'),
    lockkeeper.done('kept', '2', '\\x00ff'::bytea, 'w', keep => '1 min'),
    lockkeeper.done('kept', ARRAY['3', '4'], 'w', results => ARRAY['three', NULL]::bytea[], keep => '1 ms')" 'ok|ok|{ok,ok}'
ok 'and are kept with them for their time' is "SELECT id, state, encode(value, 'hex'), progress, claimed_by, due > now()
    FROM lockkeeper.lk_items WHERE queue = 'kept'" '1|done|6f7574|||t
2|done|00ff|||t'
ok 'the program shows them' says 0 '*1 *done*2 *done*' items kept
ok 'one that is pushed again has another run' is "SELECT lockkeeper.push_again('kept', '1', 'more'), lockkeeper.push('kept', '3');
    SELECT id, state, convert_from(value, 'UTF8'), attempts FROM lockkeeper.lk_items WHERE queue = 'kept' AND id <> '2'" 'done|t
1|ready|more|0
3|ready||0'
ok 'which keeps nothing, as its push says nothing' is "SELECT count(*) FROM lockkeeper.claim('kept', 2, 'w');
    SELECT lockkeeper.done('kept', ARRAY['1', '3'], 'w'); SELECT id FROM lockkeeper.lk_items WHERE queue = 'kept'" '2
{ok,ok}
2'
ok 'and a result that is not wanted is dropped' is "SELECT lockkeeper.drop('kept', '2'); SELECT count(*) FROM lockkeeper.lk_items
    WHERE queue = 'kept'" 'ok
0'

ok 'when it ends, it is new' is "SELECT lockkeeper.done('news', '1', 'w'); SELECT state, attempts, convert_from(value, 'UTF8'), priority
    FROM lockkeeper.lk_items WHERE queue = 'news' AND id = '1'" 'ok
ready|0|d|-1'
ok 'what is claimed is not replaced' is "SELECT id FROM lockkeeper.claim('news', 1, 'w'); SELECT lockkeeper.push_replace('news', '2', 'e'),
    lockkeeper.drop('news', '3'), lockkeeper.push('news', '3'); SELECT convert_from(value, 'UTF8') FROM lockkeeper.lk_items
    WHERE queue = 'news' AND id = '2'" '2
claimed|ok|t
d'
ok 'an item waits for what it needs' is "SELECT lockkeeper.push('jobs', '1', needs => ARRAY['room']),
    (lockkeeper.acquire('room', 'ann')).outcome, (SELECT count(*) FROM lockkeeper.claim('jobs')),
    lockkeeper.release('room', 'ann'), (SELECT count(*) FROM lockkeeper.claim('jobs'))" 't|granted|0|ok|1'
ok 'or for the head of a strict need' is "SELECT lockkeeper.push('heads', '1', needs => ARRAY['k?strict', 'o?limit=2&units=2']),
    lockkeeper.push('heads', '2', needs => ARRAY['k?strict']);
    SELECT id FROM lockkeeper.claim('heads', 1, 'w'); SELECT lockkeeper.retry('heads', '1', 'w', park => true);
    SELECT count(*) FROM lockkeeper.claim('heads', 1, 'w'); SELECT lockkeeper.drop('heads', '1');
    SELECT id FROM lockkeeper.claim('heads', 1, 'w')" 't|t
1
ok
0
ok
2'
ok 'as the view says' is "SELECT lockkeeper.push('heads', '3', needs => ARRAY['k?strict', 'o?limit=2&units=2', 'p?limit=3', 's?shared', 'x']);
    SELECT needs FROM lockkeeper.lk_items WHERE queue = 'heads' AND id = '3'" 't
{k?strict,o?limit=2&units=2,p?limit=3,s?shared,x}'
ok 'a lock is not strict' code LK064 "SELECT lockkeeper.acquire('k?strict', 'ann')"
sql_user=postgres sql "UPDATE lockkeeper.meta SET live_max = 1"
ok 'a store that is full says so' is "SELECT outcome, reason FROM lockkeeper.acquire('full', 'ann')" \
    "full|R22: the store's bound on live requests in all is reached"
ok 'to a claim by an error' code LK073 "SELECT lockkeeper.claim('mails')"
sql_user=postgres sql "UPDATE lockkeeper.meta SET live_max = 0"

# ---- transactions ----

sql_user=postgres sql "CREATE TABLE orders (id bigint PRIMARY KEY, state text);
    GRANT ALL ON orders TO app"
tell "BEGIN; INSERT INTO orders VALUES (1, 'new'); SELECT lockkeeper.push('orders', '1');"
ok 'an item beside a row' told_is t
ok 'is not there before the commit' is "SELECT count(*) FROM lockkeeper.lk_items WHERE queue = 'orders'" 0
tell 'ROLLBACK;'
ok 'nor after a rollback' is "SELECT count(*) FROM lockkeeper.lk_items WHERE queue = 'orders'" 0
tell "BEGIN; INSERT INTO orders VALUES (2, 'new'); SELECT lockkeeper.push('orders', '2'); COMMIT;"
ok 'after a commit it is' is "SELECT id FROM lockkeeper.lk_items WHERE queue = 'orders'" 2

tell "SELECT id FROM lockkeeper.claim('orders', owner => 'worker', ttl => '1 hour');"
ok 'it is claimed' told_is 2
tell "BEGIN; UPDATE orders SET state = 'sent' WHERE id = 2; SELECT lockkeeper.done('orders', '2', 'worker'); ROLLBACK;"
ok 'a result that is rolled back leaves it claimed' is "SELECT state, claimed_by FROM lockkeeper.lk_items
    WHERE queue = 'orders'" 'claimed|worker'
tell "BEGIN; UPDATE orders SET state = 'lost' WHERE id = 2; SELECT lockkeeper.done('orders', '2', 'thief'); COMMIT;"
ok 'a result of a claim that is lost is not committed' is 'SELECT state FROM orders' new
tell "BEGIN; UPDATE orders SET state = 'sent' WHERE id = 2; SELECT lockkeeper.done('orders', '2', 'worker'); COMMIT;"
ok 'and one that is committed has removed it' is "SELECT state, (SELECT count(*) FROM
    lockkeeper.lk_items WHERE queue = 'orders') FROM orders" 'sent|0'

tell "BEGIN; SELECT outcome FROM lockkeeper.acquire('r/a', 'ann');"
ok 'a lock in an open transaction' told_is granted
ok 'keeps its root from all others' code 55P03 "SET lock_timeout = 100; SELECT lockkeeper.acquire('r/b', 'bob')"
ok 'other roots are free' is "SELECT (lockkeeper.acquire('s', 'bob')).outcome" granted
tell 'ROLLBACK;'
ok 'after a rollback it is free' is "SELECT (lockkeeper.acquire('r', 'bob')).outcome" granted
ok 'nor has had' is "SELECT count(*) FROM lockkeeper.lk_locks WHERE owner = 'ann'" 0
ok 'the next one ends it' is "SELECT lockkeeper.release('r', 'bob')" ok

tell "BEGIN; SELECT (lockkeeper.acquire('p', 'ann')).outcome; SAVEPOINT s;
    SELECT (lockkeeper.acquire('r', 'ann')).outcome, lockkeeper.push('q', 'x'); ROLLBACK TO s;"
ok 'what is rolled back to a savepoint frees its root' is "SELECT (lockkeeper.acquire('r', 'bob')).outcome" granted
tell "SELECT lockkeeper.push('t', 'y'); COMMIT;"
ok 'and what was before and after it is committed' is "SELECT
    (SELECT string_agg(path || ' ' || owner, ', ') FROM lockkeeper.lk_locks WHERE path IN ('p', 'r')),
    (SELECT string_agg(id, ' ') FROM lockkeeper.lk_items WHERE id IN ('x', 'y'))" 'p ann, r bob|y'
tell "BEGIN; SELECT lockkeeper.release('p', 'ann'); SAVEPOINT s;
    SELECT lockkeeper.done('mails', 'none', 'w'); ROLLBACK TO s; COMMIT;"
ok 'an error undoes as much as its savepoint' is "SELECT count(*) FROM lockkeeper.lk_locks WHERE path = 'p'" 0

# What sweeps does not wait for counters that an open transaction has written.
sql_user=postgres sql 'UPDATE lockkeeper.ended SET ended_us = ended_us - 400000000'
ended() { # QUEUE
    sql "SELECT count(*) > 0 FROM lockkeeper.ended WHERE coalesce(queue, '') = '$1'"
}
ok 'there is something to sweep' [ "$(ended mails)$(ended orders)" = tt ]
tell "BEGIN; SELECT lockkeeper.push('mails', 'z');"
ok 'a sweep passes by a queue that is being pushed to' \
    env PGOPTIONS='-c lock_timeout=1000' psql -h "$LK_TEST_SERVER" -U app -qc 'CALL lockkeeper.sweep()' shop
ok 'and takes the rest' [ "$(ended mails)$(ended orders)" = tf ]
tell 'ROLLBACK;'
ok 'which the next one takes' is 'CALL lockkeeper.sweep()' ''
ok 'with its counts' is "SELECT (SELECT count(*) FROM lockkeeper.ended WHERE queue = 'mails'), done
    FROM lockkeeper.queues WHERE path = 'mails'" '0|3'

# Waiters learn of nothing before the commit.
sql "SELECT lockkeeper.acquire('w', 'ann', ttl => '1 hour')" >"$work/out"
"$lk" acquire --owner waiter --wait 60s w >"$work/waiter" 2>&1 &
waiter=$!
comes_to "SELECT count(*) FROM lockkeeper.lk_locks WHERE owner = 'waiter'" 1
tell "LISTEN lockkeeper; $(i=0; while [ $i -lt 32 ]; do printf 'LISTEN "lockkeeper.%s"; ' $i; i=$((i + 1)); done)"
heard() {
    tell 'SELECT 1;' # psql prints what has come
    grep -c 'Asynchronous notification' "$work/from-a"
}
before=$(heard)
begin_session b
exec 4>"$work/to-b"
printf "BEGIN; SELECT lockkeeper.release('w', 'ann');\n\\\\echo released\n" >&4
until grep -q released "$work/from-b"; do
    sleep 0.02
done
ok 'a release that is not committed notifies no session' [ "$(heard)" -eq "$before" ]
ok 'and grants nothing' is "SELECT state FROM lockkeeper.lk_locks WHERE owner = 'waiter'" waiting
echo 'COMMIT;' >&4
ok 'the commit lets the waiter in' wait "$waiter"
exec 4>&-
until [ "$(heard)" -gt "$before" ]; do :; done
ok 'by a notification' true
sql "SELECT lockkeeper.release('w', 'waiter')" >"$work/out"

# Roots in another order: the server ends one of the two, and the other goes on.
begin_session d
exec 5>"$work/to-d"
tell "BEGIN; SELECT (lockkeeper.acquire('o1', 'ann')).outcome;"
printf "BEGIN; SELECT (lockkeeper.acquire('o2', 'bob')).outcome;\n\\\\echo has o2\n" >&5
until grep -q 'has o2' "$work/from-d"; do
    sleep 0.02
done
echo "SELECT (lockkeeper.acquire('o1', 'bob')).outcome; COMMIT;" >&5
tell "SELECT (lockkeeper.acquire('o2', 'ann')).outcome; COMMIT;"
exec 5>&-
both() {
    comes_to "SELECT count(DISTINCT owner), count(*) FROM lockkeeper.lk_locks WHERE path IN ('o1', 'o2')" \
        "$1"
}
ok 'of two that take roots in turn, one is rolled back' both '1|2'
ok 'with the code of a deadlock' [ "$(cat "$work/from-a" "$work/from-d" | grep -c 'ERROR:  40P01')" -eq 1 ]

# The same with the program: it repeats its call, if it is the one.
tell "BEGIN; SELECT (lockkeeper.acquire('k2', 'ann')).outcome;"
"$lk" acquire --owner program --wait 60s k1 k2 >"$work/program" 2>&1 &
program=$!
ok 'the program waits for a root' comes_to \
    "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted" t
tell "SELECT (lockkeeper.acquire('k1', 'ann')).outcome; COMMIT;"
tell "SELECT lockkeeper.release(p, 'ann', or_fail => false) FROM unnest(ARRAY['k1', 'k2']) AS p;"
ok 'and gets both, whichever of the two was ended' wait "$program"

# ---- isolation levels ----

for level in 'REPEATABLE READ' SERIALIZABLE; do
    ok "nothing is decided at $level" code LK079 \
        "BEGIN ISOLATION LEVEL $level; SELECT lockkeeper.acquire('i', 'ann')"
    ok 'no item is pushed' code LK079 \
        "BEGIN ISOLATION LEVEL $level; SELECT lockkeeper.push('i', '1')"
    ok 'nor claimed' code LK079 "BEGIN ISOLATION LEVEL $level; SELECT lockkeeper.claim('i')"
    ok 'nor done' code LK079 "BEGIN ISOLATION LEVEL $level; SELECT lockkeeper.done('i', '1', 'w')"
    ok 'values and views can be read' is "BEGIN ISOLATION LEVEL $level; SELECT
        (SELECT count(*) FROM lockkeeper.get('v/b')), count(*) > 0 FROM lockkeeper.lk_locks; COMMIT" '1|t'
done
ok 'READ UNCOMMITTED is READ COMMITTED' is "BEGIN ISOLATION LEVEL READ UNCOMMITTED;
    SELECT (lockkeeper.acquire('i', 'ann')).outcome; COMMIT" granted
ok 'a transaction that reads decides nothing' code 25006 \
    "BEGIN READ ONLY; SELECT lockkeeper.acquire('i', 'ann')"
ok 'another search path changes nothing' is "CREATE TEMP TABLE requests (); SET search_path = pg_temp, public;
    SELECT (lockkeeper.acquire('i', 'ann')).outcome" granted
ok 'nor do strings of old' is "SET standard_conforming_strings = off; SET escape_string_warning = off;
    SELECT (lockkeeper.acquire('i/.x', 'ann')).outcome" granted
ok 'where bad paths are bad' code LK064 "SET standard_conforming_strings = off;
    SET escape_string_warning = off; SELECT lockkeeper.acquire('i/..', 'ann')"

# ---- what the text keeps ----

sql_user=postgres sql "CREATE VIEW mine AS SELECT * FROM lockkeeper.acquire('mine', 'ann');
    CREATE VIEW taken AS SELECT * FROM lockkeeper.claim('mails')"
sql_user=postgres
ok 'the text runs again' run_file "$work/schema.sql" shop
ok 'and keeps views of the functions for people' is 'SELECT outcome FROM mine' granted
ok 'which are told by their comments' is "SELECT string_agg(DISTINCT p.proname, ' ' ORDER BY p.proname)
    FROM pg_proc AS p WHERE p.pronamespace = 'lockkeeper'::regnamespace
    AND obj_description(p.oid, 'pg_proc') IS NOT NULL" \
    'acquire break cancel claim del done drop get progress push push_again push_replace put release renew retry sweep unpark'
exec 3>&-
ok 'the text of a failure is a text' is "SELECT lockkeeper.push('why', '1'); SELECT id FROM lockkeeper.claim('why', owner => 'w');
    SELECT lockkeeper.retry('why', '1', 'w', error => 'Größe fehlt');
    SELECT last_error FROM lockkeeper.lk_items WHERE queue = 'why'" 't
1
ok
Größe fehlt'
sql_user=postgres sql "UPDATE lockkeeper.items SET last_error = '\xff41' WHERE queue = 'why'"
ok 'unless it is none' is "SELECT last_error FROM lockkeeper.lk_items WHERE queue = 'why'" '\377A'

# ---- transactions and statements that have read before ----

sql_user=postgres sql "CREATE SCHEMA ways; GRANT USAGE ON SCHEMA ways TO app; CREATE TABLE ways.t (n integer);
    GRANT INSERT ON ways.t TO app;
    CREATE FUNCTION ways.stable() RETURNS text LANGUAGE plpgsql STABLE
        AS 'BEGIN RETURN (SELECT outcome FROM lockkeeper.acquire(''way/t'', ''ben'')); END';
    CREATE FUNCTION ways.inlined() RETURNS text LANGUAGE sql STABLE
        AS 'SELECT outcome FROM lockkeeper.acquire(''way/t'', ''ben'')';
    CREATE FUNCTION ways.fires() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM lockkeeper.acquire(''way/t'', ''ben''); RETURN NEW; END';
    CREATE TRIGGER fires BEFORE INSERT ON ways.t FOR EACH ROW EXECUTE FUNCTION ways.fires()"
has_one_holder() { # BEGIN CALL
    tell "$1; SELECT count(*) FROM lockkeeper.requests;"
    sql "SELECT outcome FROM lockkeeper.acquire('way/t', 'ana')" >"$work/out" || return 1
    tell "$2;"
    tell 'COMMIT; RESET default_transaction_isolation;'
    is "SELECT string_agg(owner, ' ') FROM lockkeeper.lk_locks WHERE path = 'way/t'" ana || return 1
    sql "SELECT lockkeeper.break('way/t', 'over', now => true)" >"$work/out"
}
call="SELECT outcome FROM lockkeeper.acquire('way/t', 'ben')"
for begin in BEGIN 'BEGIN ISOLATION LEVEL REPEATABLE READ' "SET default_transaction_isolation = 'serializable'; BEGIN" \
    'BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE' "BEGIN; DECLARE c CURSOR FOR $call" \
    "BEGIN ISOLATION LEVEL REPEATABLE READ; DECLARE c CURSOR FOR $call" 'BEGIN; SAVEPOINT a'; do
    while IFS='~' read -r way; do
        ok "there is one holder: $begin ... $way" has_one_holder "$begin" "$way"
    done <<END
$call
SELECT ways.stable()
SELECT ways.inlined()
INSERT INTO ways.t VALUES (1)
DO 'BEGIN PERFORM lockkeeper.acquire(''way/t'', ''ben''); END'
SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED; $call
FETCH c
SAVEPOINT b; $call
END
done


finish
