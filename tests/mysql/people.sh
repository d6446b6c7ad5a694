#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh people.sh LK
#
# SQL for people (docs/sql-mysql.md): the procedures beside the program on one store, in transactions that are
# committed, rolled back and rolled back to a savepoint, at each isolation level. Prints TAP.
. "${0%/*}/harness.sh"

export LK_STORE="mysql://app@/test?$server"
"$lk" schema mysql >"$work/schema.sql"
run_file "$work/schema.sql"
sql 'CREATE USER app; GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON test.* TO app;
     CREATE TABLE orders (id BIGINT PRIMARY KEY) ENGINE = InnoDB'

# As the application, which has no other right than these.
app() { # SQL
    mariadb --no-defaults -u app -S "$LK_TEST_SERVER/socket" --default-character-set=utf8mb4 -N -B -e "$1" test \
        2>"$work/err"
}
answers() { # SQL WORDS: of its rows, with | between
    app "$1" >"$work/out" && [ "$(tr '\n\t' ' |' <"$work/out")" = "${2:+$2 }" ]
}
has() { # SQL COLUMNS WORDS: the columns of its row by number
    app "$1" >"$work/out" && [ "$(cut -f "$2" "$work/out" | tr '\n\t' ' |')" = "$3 " ]
}
code() { # SQLSTATE SQL
    ! app "$2" >"$work/out" && grep -q "^ERROR 300${1#LK0} ($1)" "$work/err"
}
says_why() { # SENTENCE SQL
    code LK064 "$2" && grep -qF -- "$1" "$work/err"
}
in_transaction='SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION'

# ---- locks ----

ok 'a lock with a limit' has "CALL lk_lock_acquire('foo?limit=20', 'ann', '{\"ttl\": 600}')" 1,3,6 'granted|ann|1'
ok 'is seen by the program' says 0 '*foo*ann*' ls foo
ok 'one that is in the way is named' has "CALL lk_lock_acquire('foo', 'bob', NULL)" 1,7,12 \
    'busy|1|not granted: ann holds foo'
ok 'as an object' [ "$(cut -f 8 "$work/out" | sed 's/.*"owner": "\([a-z]*\)".*"state": "\([a-z]*\)".*/\1 \2/')" = 'ann held' ]
ok 'or is an error' code LK075 "CALL lk_lock_acquire('foo', 'bob', '{\"or_fail\": true}')"
ok 'or waits in the queue' has \
    "CALL lk_lock_acquire('foo', 'bob', '{\"style\": \"queue\", \"note\": \"by SQL\"}')" 1 waiting
ok 'which the program shows' says 0 '*bob*by SQL*behind ann*' show foo
app "CALL lk_lock_acquire('one?limit=9', NULL, NULL); CALL lk_lock_acquire('one?limit=9', NULL, NULL)" >"$work/out"
ok 'an owner that is not named is another one each time' [ "$(cut -f 3 "$work/out" | sort -u | wc -l)" -eq 2 ]
ok 'several parts are one request' has "CALL lk_lock_acquire('[\"db/t1\", \"pool?limit=3&units=2\"]', 'ann', NULL)" 1 granted
ok 'all or none' has "CALL lk_lock_acquire('[\"db/t2\", \"pool?limit=3&units=2\"]', 'bob', NULL)" 1 busy
ok 'a renewal answers the deadline' has "CALL lk_lock_renew('foo', 'ann', NULL, '{\"ttl\": 3600}')" 1 ok
ok 'as the store has it' is "SELECT ABS(TIMESTAMPDIFF(MICROSECOND, expires, '$(cut -f 2 "$work/out")')) < 1000 FROM lk_locks
    WHERE owner = 'ann' AND path = 'foo'" 1
ok 'a fixed end is not moved' has "CALL lk_lock_acquire('fixed', 'ann',
    JSON_OBJECT('until', NOW() + INTERVAL 1 HOUR)); CALL lk_lock_renew('fixed', 'ann', NULL, '{\"ttl\": 1}');
    SELECT expires > NOW() + INTERVAL 59 MINUTE FROM lk_locks WHERE path = 'fixed'" 1 'granted ok 1'
token=$(sql "SELECT token FROM lk_locks WHERE path = 'foo' AND owner = 'ann'")
ok 'the token ends it without the owner' answers "CALL lk_lock_release('foo', NULL, $token, NULL, NULL)" ok
ok 'and the next one has it' says 0 '*held*bob*' ls foo
ok 'its end is lost then' code LK078 "CALL lk_lock_release('foo', NULL, $token, NULL, NULL)"
ok 'unless it is repeated with the owner (R3)' answers "CALL lk_lock_release('foo', 'ann', $token, NULL, NULL)" ok
ok 'or is asked for no error' has "CALL lk_lock_release('foo', NULL, 5, NULL, '{\"or_fail\": false}');
    CALL lk_lock_renew('foo', NULL, 5, '{\"or_fail\": false}')" 1 'lost lost'
ok 'a batch ends by all of its paths' answers "CALL lk_lock_release('[\"pool\", \"db/t1\"]', 'ann', NULL, NULL, NULL)" ok
ok 'a break is on record' answers "CALL lk_lock_break('foo', 'the host is gone', '{\"now\": true}')" 1
ok 'with the user of the session' says 0 '*app@*the host is gone*' audit
sql 'UPDATE lk_meta SET live_max = 1'
ok 'a store that is full says so' has "CALL lk_lock_acquire('full', 'ann', NULL)" 1,12 \
    "full|R22: the store's bound on live requests in all is reached"
sql 'UPDATE lk_meta SET live_max = 0'
ok 'a deadlock names its owners' has "CALL lk_lock_acquire('x', 'a', NULL); CALL lk_lock_acquire('y', 'b', NULL);
    CALL lk_lock_acquire('y', 'a', '{\"style\": \"queue\"}'); CALL lk_lock_acquire('x', 'b', '{\"style\": \"queue\"}')" \
    1 'granted granted waiting deadlock'
ok 'in the reason' [ "$(tail -n 1 "$work/out" | cut -f 12 | grep -c 'cycle of owners.*"b"')" -eq 1 ]

# ---- values ----

ok 'a value is text' answers "CALL lk_value_put('v', 'Grüße', NULL, NULL, NULL)" ok
ok 'as the program reads it' says 0 'Grüße' get v
ok 'or bytes' answers "CALL lk_value_put('v/b', x'00ff', NULL, NULL, NULL)" ok
ok 'which are these' is "SELECT HEX(bytes) FROM lk_values WHERE path = 'v/b'" 00FF
ok 'a lock may bring it' has "CALL lk_lock_acquire('v', 'ann', '{\"with_value\": true}')" 1,10,11 'granted|Grüße|0'
ok 'then no other owner writes it' code LK075 "CALL lk_value_put('v', 'x', 'other', NULL, NULL)"
ok 'nor deletes it' answers "CALL lk_value_delete('v', NULL, NULL, '{\"or_fail\": false}')" busy
ok 'but its owner does' answers "CALL lk_value_put('v', 'mine', 'ann', NULL, NULL)" ok
ok 'a release may write it' answers "CALL lk_lock_release('v', 'ann', NULL, 'new', NULL)" ok
ok 'and it is there' answers "CALL lk_value_get('v')" 'new|0'
ok 'until it is deleted' answers "CALL lk_value_delete('v', NULL, NULL, NULL); CALL lk_value_get('v')" ok

# ---- work ----

ok 'an item is pushed' answers "CALL lk_work_push('mails', '1', 'to: 1', NULL)" '1|0|NULL'
ok 'once' answers "CALL lk_work_push('mails', '1', 'other', NULL)" '0|0|ready'
ok 'several at once' answers "CALL lk_work_push_many('mails', '[\"1\", \"2\", \"3\", \"4\", \"5\"]', '[\"a\", \"Grüße\", null, {\"k\": 1}, \"x\"]', NULL)" \
    '0|1|0|ready 1|2|0|NULL 1|3|0|NULL 1|4|0|NULL 1|5|0|NULL'
ok 'by the program, too' says 0 '*' push mails 6 text
ok 'and claimed' has "CALL lk_work_claim('mails', 4, 'w', NULL)" 1,2,4,6,7 \
    '1|to: 1|w|1|0 2|Grüße|w|1|0 3|NULL|w|1|0 4|{"k": 1}|w|1|0'
token=$(cut -f 3 "$work/out" | sort -u)
expires=$(cut -f 5 "$work/out" | sort -u)
ok 'with one token (R4)' is "SELECT COUNT(*), COUNT(DISTINCT token) FROM lk_locks WHERE token = $token" '4|1'
ok 'until then' is "SELECT ABS(TIMESTAMPDIFF(MICROSECOND, expires, '$expires')) < 1000 FROM lk_locks
    WHERE path = 'mails/1'" 1
ok 'as the program says' says 0 '*4*claimed*w*' items mails
ok 'an ask that is repeated gives the same items (R3)' has "CALL lk_work_claim('mails', 2, 'x', '{\"ask\": 7}');
    CALL lk_work_claim('mails', 2, 'x', '{\"ask\": 7}')" 1 '5 6 5 6'
ok 'where there is nothing no row comes' answers "CALL lk_work_claim('mails', 9, NULL, NULL)" ''
ok 'they are done' answers "CALL lk_work_done('mails', '[\"1\", \"2\"]', NULL, $token, NULL)" 'ok|1 ok|2'
ok 'and once more (R3)' answers "CALL lk_work_done('mails', '[\"1\", \"2\"]', 'w', $token, NULL)" 'ok|1 ok|2'
ok 'or given back, and why' answers "CALL lk_work_retry('mails', '3', 'w', NULL,
    '{\"delay\": 3600, \"exit_code\": 5, \"error\": \"no host\"}')" ok
ok 'as the view shows' is "SELECT state, last_exit, last_error FROM lk_work WHERE id = '3'" 'delayed|5|no host'
ok 'what is not claimed any more is lost' code LK078 "CALL lk_work_done('mails', '3', 'w', NULL, NULL)"
ok 'or given back twice' code LK078 "CALL lk_work_retry('mails', '3', NULL, $token, NULL)"
ok 'all of a list or none' code LK078 "CALL lk_work_done('mails', '[\"4\", \"3\"]', 'w', NULL, NULL)"
ok 'is still claimed then' answers "CALL lk_work_done('mails', '[\"4\", \"3\"]', 'w', NULL, '{\"or_fail\": false}')" 'ok|4 lost|3'
ok 'an owner that is not named is another one each time' has "CALL lk_work_push('own', '1', NULL, NULL);
    CALL lk_work_push('own', '2', NULL, NULL); CALL lk_work_claim('own', NULL, NULL, NULL)" 1 '1 1 1'
ok 'whom the token stands for' answers "CALL lk_work_retry('own', '1', NULL, $(tail -n 1 "$work/out" | cut -f 3), NULL)" ok
ok 'the greater priority comes first' has "CALL lk_work_push('own', '3', NULL, '{\"priority\": 5}');
    CALL lk_work_claim('own', 3, 'p', NULL)" 1 '1 3 1 2'
sql "CALL lk_work_push('bad', '1', NULL, NULL); CALL lk_work_claim('bad', 1, 'w', '{\"max_attempts\": 1}');
    CALL lk_work_retry('bad', '1', 'w', NULL, NULL)" >"$work/out"
ok 'an item that fails too often is parked' is "SELECT state FROM lk_work WHERE queue = 'bad'" parked
ok 'and not claimed' answers "CALL lk_work_claim('bad', 1, 'w', NULL)" ''
ok 'until it is unparked, or dropped' answers "CALL lk_work_unpark('bad', '1', NULL);
    CALL lk_work_drop('bad', '1', NULL)" 'ok|1 ok|1'
ok 'which is lost then' code LK078 "CALL lk_work_unpark('bad', '1', NULL)"
ok 'or asked for no error' answers "CALL lk_work_drop('bad', '[\"1\", \"2\"]', '{\"only_parked\": true, \"or_fail\": false}')" 'lost|1 lost|2'
sql "CALL lk_work_push_many('bad', '[\"1\", \"2\", \"3\"]', NULL, NULL); CALL lk_work_claim('bad', 2, 'w', NULL)" >"$work/out"
ok 'an item is parked at once where its worker says so' answers "CALL lk_work_retry('bad', '1', 'w', NULL,
    '{\"error\": \"no such file\", \"park\": true, \"uncounted\": true}')" ok
ok 'with why' is "SELECT state, attempts, last_error FROM lk_work WHERE queue = 'bad' AND id = '1'" 'parked|0|no such file'
ok 'an item is cancelled, claimed or not' answers "CALL lk_work_cancel('bad', '2', 'the order was withdrawn', '{\"by\": \"ann\"}');
    CALL lk_work_cancel('bad', '3', 'so was this', NULL)" 'ok|1 ok|0'
ok 'on record' says 0 '*ann*the order was withdrawn*so was this*' audit bad
ok 'a claimed one stays until its claim ends' is "SELECT id, state, claimed_by FROM lk_work WHERE queue = 'bad' AND id > '1'" '2|cancelled|w'
ok 'as the program says' says 0 '*2*cancelled*w*' items bad
ok 'its worker is told' code LK078 "CALL lk_lock_renew('bad/2', 'w', NULL, NULL)"
ok 'no other worker gets it' answers "CALL lk_work_push('bad', '2', NULL, NULL); CALL lk_work_drop('bad', '2', '{\"or_fail\": false}');
    CALL lk_work_retry('bad', '2', 'w', NULL, NULL); CALL lk_work_claim('bad', 1, 'x', NULL)" '0|0|cancelled lost|2 ok'
ok 'what is gone is lost' code LK078 "CALL lk_work_cancel('bad', '2', 'why', NULL)"
ok 'or asked for no error' answers "CALL lk_work_cancel('bad', '2', 'why', '{\"or_fail\": false}')" 'lost|NULL'
ok 'a claim can be ended with it' has "CALL lk_work_push('bad', '4', NULL, NULL); CALL lk_work_claim('bad', 1, 'w', NULL);
    CALL lk_work_cancel('bad', '4', 'why', '{\"now\": true}'); CALL lk_work_push('bad', '4', NULL, NULL)" 1 '1 4 ok 1'
ok 'in a transaction it comes with the commit' answers "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION; CALL lk_work_cancel('bad', '4', 'why', NULL); ROLLBACK;
    SELECT COUNT(*) FROM lk_work WHERE queue = 'bad'" 'ok|0 2'
sql "CALL lk_work_push_many('news', '[\"1\", \"2\"]', NULL, NULL); CALL lk_work_claim('news', 1, 'w', NULL)" >"$work/out"
ok 'an item that is pushed again follows its claim' answers "CALL lk_work_push('news', '1', 'b', '{\"again\": true}');
    CALL lk_work_push('news', '1', 'c', '{\"again\": true}'); CALL lk_work_push('news', '2', 'b', '{\"again\": true}');
    CALL lk_work_push('news', '3', NULL, '{\"again\": true}')" '0|1|claimed 0|1|again 0|1|ready 1|0|NULL'
ok 'or several do' answers "CALL lk_work_push_many('news', '[\"1\", \"2\", \"3\"]', '[\"d\", \"d\", null]',
    '{\"replace\": true, \"priority\": -1}')" '0|1|1|again 0|2|1|ready 0|3|1|ready'
ok 'in the meantime it is claimed' is "SELECT id, state, claimed_by FROM lk_work WHERE queue = 'news' AND id = '1'" '1|again|w'
ok 'as the program says' says 0 '*1*again*w*' items news
ok 'when it ends, it is new' answers "CALL lk_work_done('news', '1', 'w', NULL, NULL);
    SELECT state, attempts, value, priority FROM lk_work WHERE queue = 'news' AND id = '1'" 'ok|1 ready|0|d|-1'
ok 'what is claimed is not replaced' has "CALL lk_work_claim('news', 1, 'w', NULL); CALL lk_work_push('news', '2', 'e', '{\"replace\": true}');
    SELECT value FROM lk_work WHERE queue = 'news' AND id = '2'" 1 '2 0 d'
ok 'a push for triggers can do it, too' answers "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION; CALL lk_work_push_inside('news', '2', 'f', '{\"again\": true}'); COMMIT;
    SELECT state, value FROM lk_work WHERE queue = 'news' AND id = '2'" 'again|f'
sql "CALL lk_work_push('kept', '1', 'in', '{\"keep\": 1.5}'); CALL lk_work_push_many('kept', '[\"2\", \"3\"]', NULL, NULL);
    CALL lk_work_claim('kept', 3, 'w', '{\"ttl\": 600}')" >"$work/out"
ok 'a claimant says how far its work is' answers "CALL lk_work_progress('kept', '1', 'w', NULL, 'half', NULL);
    SELECT state, progress FROM lk_work WHERE queue = 'kept' AND id = '1'" 'ok claimed|half'
ok 'another one does not' code LK078 "CALL lk_work_progress('kept', '1', 'thief', NULL, 'all', NULL)"
ok 'or is asked for no error' answers "CALL lk_work_progress('kept', '1', 'thief', NULL, 'all', '{\"or_fail\": false}')" lost
ok 'it is short' says_why 'R16: a progress has at most 1024 bytes, not 1025' \
    "CALL lk_work_progress('kept', '1', 'w', NULL, REPEAT('x', 1025), NULL)"
ok 'an item is kept with its result' answers "CALL lk_work_done('kept', '1', 'w', NULL, '{\"result\": \"Grüße\"}');
    SELECT state, value, progress, due > NOW(), needs FROM lk_work WHERE queue = 'kept' AND id = '1'" 'ok|1 done|Grüße|NULL|1|'
ok 'or several are' answers "CALL lk_work_done('kept', '[\"2\", \"3\"]', 'w', NULL, '{\"result\": \"out\", \"keep\": 600}');
    SELECT id, state, value FROM lk_work WHERE queue = 'kept' AND id > '1'" 'ok|2 ok|3 2|done|out 3|done|out'
ok 'as the program says' says 0 '*"id":"3","state":"done"*' items --json kept
ok 'a push finds them' answers "CALL lk_work_push('kept', '2', 'new', NULL); CALL lk_work_push('kept', '2', 'new', '{\"replace\": true}');
    CALL lk_work_push('kept', '2', 'new', '{\"again\": true}')" '0|0|done 0|0|done 0|1|done'
ok 'and makes another run of one if it says so' is "SELECT state, value FROM lk_work WHERE queue = 'kept' AND id = '2'" 'ready|new'
ok 'which is kept once' is "SELECT GROUP_CONCAT(id ORDER BY id) FROM lk_kept WHERE queue = 'kept'" 1,3
ok 'one that is dropped is kept no longer' answers "CALL lk_work_drop('kept', '3', NULL); SELECT COUNT(*) FROM lk_work
    WHERE queue = 'kept' AND id = '3'" 'ok|3 0'
ok 'a time of more than a year is not kept' says_why 'R16: a result is kept for 0 to 366 days' \
    "CALL lk_work_push('kept', '9', NULL, '{\"keep\": 31622401}')"
ok 'nor by a done' says_why 'R16: a result is kept for 0 to 366 days' \
    "CALL lk_work_done('kept', '2', 'w', NULL, '{\"keep\": -1}')"
ok 'when its time is over, an item is not there' comes_to "SELECT COUNT(*) FROM lk_work WHERE queue = 'kept' AND id = '1'" 0
ok 'and lost' code LK078 "CALL lk_work_drop('kept', '1', NULL)"
ok 'or cancelled without a record' code LK078 "CALL lk_work_cancel('kept', '1', 'why', NULL)"
ok 'its row may be there' is "SELECT COUNT(*) FROM lk_items WHERE queue = 'kept' AND id = '1'" 1
ok 'until a sweep removes it' app 'CALL lk_sweep()'
ok 'with its result' is "SELECT (SELECT COUNT(*) FROM lk_items WHERE queue = 'kept' AND id = '1'),
    (SELECT COUNT(*) FROM lk_item_values WHERE queue = 'kept' AND id = '1'), (SELECT COUNT(*) FROM lk_kept)" '0|0|0'
ok 'in a transaction a result comes with the commit' has "$in_transaction; CALL lk_work_claim('kept', 1, 'w', NULL);
    CALL lk_work_done('kept', '2', 'w', NULL, '{\"keep\": 600}'); ROLLBACK; SELECT state FROM lk_work WHERE queue = 'kept'" 1 '2 ok ready'
ok 'an item waits for what it needs' has "CALL lk_work_push('jobs', '1', NULL, '{\"needs\": [\"room\", \"pool?limit=2\"]}');
    CALL lk_lock_acquire('room', 'ann', NULL); CALL lk_work_claim('jobs', 1, 'w', NULL);
    CALL lk_lock_release('room', 'ann', NULL, NULL, NULL); CALL lk_work_claim('jobs', 1, 'w', NULL)" 1 '1 granted ok 1'
ok 'and its claim locks that' is "SELECT GROUP_CONCAT(path ORDER BY path) FROM lk_locks WHERE owner = 'w'
    AND path IN ('jobs/1', 'pool', 'room')" 'jobs/1,pool,room'
ok 'a strict need keeps the order' has "CALL lk_work_push_many('steps', '[\"1\", \"2\"]', NULL, '{\"needs\": [\"room/1?strict\", \"room/2\"]}');
    CALL lk_work_claim('steps', 1, 'w', NULL); CALL lk_work_retry('steps', '1', 'w', NULL, '{\"park\": true}');
    CALL lk_work_claim('steps', 1, 'w', NULL); CALL lk_work_drop('steps', '1', NULL);
    CALL lk_work_claim('steps', 1, 'w', NULL)" 1 '1 1 1 ok ok 2'
ok 'and is read as it was written' is "SELECT needs FROM lk_work WHERE queue = 'steps'" 'room/1?strict room/2'
ok 'one that perished is stolen' has "CALL lk_work_push('due', '1', NULL, NULL);
    CALL lk_work_claim('due', 1, 'w', '{\"ttl\": 0.05}'); DO SLEEP(0.06); CALL lk_work_claim('due', 1, 'x', NULL)" \
    1,6,7 '1 1|1|0 1|2|1'
sql 'UPDATE lk_meta SET live_max = 1'
ok 'a store that is full says so to a claim by an error' code LK073 "CALL lk_work_push('own', '9', NULL, NULL);
    CALL lk_work_claim('own', 1, 'w', NULL)"
sql 'UPDATE lk_meta SET live_max = 0'

# ---- transactions ----

items_of() { # QUEUE IDS
    is "SELECT COALESCE(GROUP_CONCAT(id ORDER BY id), '') FROM lk_work WHERE queue = '$1'" "$2"
}
ok 'an item beside a row' answers "$in_transaction; INSERT INTO orders VALUES (70);
    CALL lk_work_push('orders', '70', NULL, NULL); ROLLBACK" '1|0|NULL'
ok 'is not there after a rollback' items_of orders ''
ok 'nor is the row' is 'SELECT COUNT(*) FROM orders WHERE id = 70' 0
ok 'after a commit both are' answers "$in_transaction; INSERT INTO orders VALUES (71);
    CALL lk_work_push('orders', '71', NULL, NULL); COMMIT; SELECT id FROM orders WHERE id = 71" '1|0|NULL 71'
ok 'which others see' items_of orders 71
ok 'a claim that is rolled back' has "$in_transaction; CALL lk_work_claim('orders', 1, 'w', NULL); ROLLBACK" 1 71
ok 'has not been' is "SELECT state, attempts FROM lk_work WHERE queue = 'orders'" 'ready|0'
ok 'it is claimed' has "CALL lk_work_claim('orders', 1, 'w', NULL)" 1 71
ok 'a result that is rolled back' answers "$in_transaction; UPDATE orders SET id = 72 WHERE id = 71;
    CALL lk_work_done('orders', '71', 'w', NULL, NULL); ROLLBACK" 'ok|71'
ok 'leaves it claimed' is "SELECT state, claimed_by FROM lk_work WHERE queue = 'orders'" 'claimed|w'
ok 'a result of a claim that is lost is not committed' code LK078 "$in_transaction;
    UPDATE orders SET id = 72 WHERE id = 71; CALL lk_work_done('orders', '71', 'thief', NULL, NULL); COMMIT"
ok 'and nothing of it is there' is 'SELECT COUNT(*) FROM orders WHERE id = 72' 0
ok 'one that is committed' answers "$in_transaction; UPDATE orders SET id = 72 WHERE id = 71;
    CALL lk_work_done('orders', '71', 'w', NULL, NULL); COMMIT; SELECT id FROM orders WHERE id = 72" 'ok|71 72'
ok 'has removed it' items_of orders ''
ok 'what is rolled back to a savepoint is not pushed' answers "$in_transaction;
    CALL lk_work_push('sp', '1', NULL, NULL); SAVEPOINT s; CALL lk_work_push('sp', '2', NULL, NULL);
    ROLLBACK TO s; CALL lk_work_push_many('sp', '[\"3\", \"4\"]', NULL, NULL); COMMIT" '1|0|NULL 1|0|NULL 1|3|0|NULL 1|4|0|NULL'
ok 'what was before and after it is' items_of sp 1,3,4
ok 'without autocommit nothing is pushed' answers "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET autocommit = 0; CALL lk_work_push('sp', '5', NULL, NULL)" '1|0|NULL'
ok 'until the caller commits' items_of sp 1,3,4

sql "CREATE TRIGGER announce AFTER INSERT ON orders FOR EACH ROW
    CALL lk_work_push_inside(IF(NEW.id < 0, 'bad//', 'announced'), NEW.id, NEW.id * 2, '{\"priority\": 3}')"
read_committed='SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'
ok 'a trigger pushes' answers "$read_committed; INSERT INTO orders VALUES (80), (81)" ''
ok 'with the row' is "SELECT GROUP_CONCAT(id, value, priority ORDER BY id) FROM lk_work WHERE queue = 'announced'" '801603,811623'
ok 'and not without' answers "$in_transaction; INSERT INTO orders VALUES (82); ROLLBACK" ''
ok 'it is not there' items_of announced 80,81
ok 'it says what is not allowed' says_why 'R1: a segment has at least one byte' "$read_committed; INSERT INTO orders VALUES (83), (-1)"
ok 'in a transaction, too' [ "$(mariadb --no-defaults -f -u app -S "$LK_TEST_SERVER/socket" -N -B test 2>"$work/err" <<SQL
$in_transaction; INSERT INTO orders VALUES (84); INSERT INTO orders VALUES (85), (-1); COMMIT
SQL
grep -c LK064 "$work/err")" = 1 ]
ok 'and no more than that statement is undone' is "SELECT GROUP_CONCAT(id ORDER BY id) FROM orders WHERE id > 79 OR id < 0" 80,81,84
ok 'nor its items' items_of announced 80,81,84
for level in 'REPEATABLE READ' SERIALIZABLE; do
    ok "not at $level" code LK079 "SET SESSION TRANSACTION ISOLATION LEVEL $level; INSERT INTO orders VALUES (86)"
done
ok 'it is not for a statement of its own' code LK079 "$read_committed; CALL lk_work_push_inside('sp', '6', NULL, NULL)"
ok 'but for transactions' answers "$in_transaction; CALL lk_work_push_inside('sp', '6', NULL, NULL); COMMIT" ''
ok 'it is pushed' items_of sp 1,3,4,6
ok 'a trigger knows the run of the server as all others do (R11)' is \
    'CALL lk_read_start(@a); CALL lk_read_start_inside(@b, @level); SELECT @a = @b, @level' '1|REPEATABLE-READ'
sql "UPDATE lk_meta SET server_start = 5;
    INSERT INTO lk_requests (part, path, unit_limit, units, root, owner, note, held, attended, fixed, wants_value,
        ticket, token, ttl_ms, deadline_us, identity, roots, part_count)
    SELECT 1, 'down', 0, 0, 'down', 'before', '', 1, 0, 0, 0, 9, 9, 60000, MAX(last_draw) + 1, UNHEX(SHA2('down\nbefore', 256)),
        'down', 1 FROM lk_roots"
ok 'a trigger that is the first after a restart' answers "$read_committed; INSERT INTO orders VALUES (87)" ''
ok 'leaves the leases that lived before their grace' is "SELECT server_start <> 5,
    (SELECT state FROM lk_locks WHERE path = 'down') FROM lk_meta" '1|held'
sql 'DROP TRIGGER announce; DELETE FROM orders'

ok 'a lock beside a row' has "$in_transaction; INSERT INTO orders VALUES (1);
    CALL lk_lock_acquire('r', 'ann', NULL); ROLLBACK" 1 granted
ok 'is undone with it' is "SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM lk_requests WHERE path = 'r')" '0|0'
ok 'or committed with it' has "$in_transaction; INSERT INTO orders VALUES (1);
    CALL lk_lock_acquire('r', 'ann', NULL); COMMIT" 1 granted
ok 'and is there' is "SELECT (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM lk_requests WHERE path = 'r')" '1|1'
ok 'an error undoes the call, and no more' code LK078 "$in_transaction; INSERT INTO orders VALUES (2);
    CALL lk_lock_release('r', 'thief', NULL, NULL, NULL)"
ok 'which the caller may go on after' [ "$(mariadb --no-defaults -f -u app -S "$LK_TEST_SERVER/socket" -N -B test 2>"$work/err" <<SQL | cut -f 1 | tr '\n' ' '
$in_transaction;
INSERT INTO orders VALUES (3);
CALL lk_value_put('kept', '1', NULL, NULL, NULL);
CALL lk_lock_release('r', 'thief', NULL, NULL, NULL);
CALL lk_lock_acquire('r/', 'bob', '{"or_fail": true}');
COMMIT;
SELECT id FROM orders WHERE id = 3;
CALL lk_value_get('kept');
SQL
)" = 'ok 3 1 ' ]
sql "CALL lk_lock_acquire('k?shared', 'ann', NULL); CALL lk_lock_acquire('k?shared', 'bob', NULL)" >"$work/out"
mariadb --no-defaults -f -u app -S "$LK_TEST_SERVER/socket" test >"$work/out" 2>"$work/err" <<SQL
$in_transaction;
CALL lk_lock_acquire('k', 'ann', '{"ttl": 7200, "or_fail": true}');
COMMIT;
SQL
ok 'a conversion that is refused by an error' grep -q LK075 "$work/err"
ok 'has not moved the deadline' is "SELECT MAX(ttl_ms) FROM lk_requests WHERE path = 'k'" 60000
ok 'what is rolled back to a savepoint is not asked for' has "$in_transaction;
    CALL lk_lock_acquire('p', 'ann', NULL); SAVEPOINT s; CALL lk_lock_acquire('q', 'ann', NULL);
    CALL lk_value_put('q', 'x', 'ann', NULL, NULL); ROLLBACK TO s; CALL lk_lock_acquire('t', 'ann', NULL); COMMIT" \
    1 'granted granted ok granted'
ok 'what was before and after it is' is "SELECT GROUP_CONCAT(path ORDER BY path) FROM lk_requests
    WHERE path IN ('p', 'q', 't')" 'p,t'
ok 'nor is a value written' answers "CALL lk_value_get('q')" ''
ok 'without autocommit nothing is committed' has "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET autocommit = 0; CALL lk_lock_acquire('u', 'ann', NULL); CALL lk_lock_renew('u', 'ann', NULL, NULL)" 1 'granted ok'
ok 'until the caller does' is "SELECT COUNT(*) FROM lk_requests WHERE path = 'u'" 0

mkfifo "$work/to"
mariadb --no-defaults -n -u app -S "$LK_TEST_SERVER/socket" -N -B test <"$work/to" >"$work/from" 2>&1 &
exec 3>"$work/to"
echo "$in_transaction; CALL lk_lock_release('t', 'ann', NULL, NULL, NULL); CALL lk_lock_acquire('s/a', 'ann', NULL);
    CALL lk_work_claim('sp', 1, 'ann', NULL); SELECT 'now';" >&3
until grep -q now "$work/from"; do
    sleep 0.02
done
ok 'a claim in an open transaction keeps its queue from all others' [ "$(app "SET innodb_lock_wait_timeout = 1;
    CALL lk_work_claim('sp', 1, 'bob', NULL)" 2>&1; grep -c '^ERROR 1205' "$work/err")" = 1 ]
ok 'a lock in an open transaction keeps its root from all others' [ "$(app "SET innodb_lock_wait_timeout = 1;
    CALL lk_lock_acquire('s/b', 'bob', NULL)" 2>&1; grep -c '^ERROR 1205' "$work/err")" = 1 ]
ok 'other roots are free' has "CALL lk_lock_acquire('free', 'bob', NULL)" 1 granted
echo 'ROLLBACK; SELECT 5;' >&3
until grep -q '^5' "$work/from"; do
    sleep 0.02
done
ok 'after a rollback another one has the item' has "CALL lk_work_claim('sp', 1, 'bob', NULL)" 1 1
ok 'and the next one the next' has "CALL lk_work_claim('sp', 1, 'ann', NULL)" 1 3
ok 'the root is free' has "CALL lk_lock_acquire('s', 'bob', NULL)" 1 granted
ok 'and what was released is held' is "SELECT COUNT(*) FROM lk_requests WHERE path = 't' AND held" 1
exec 3>&-

# A commit in two halves, and an event, whose session has the level of the server.
ok 'a transaction may be prepared' has "$read_committed; XA START 'two'; CALL lk_lock_acquire('two', 'ann', NULL);
    XA END 'two'; XA PREPARE 'two'" 1 granted
ok 'which keeps its root' [ "$(app "SET innodb_lock_wait_timeout = 1;
    CALL lk_lock_acquire('two', 'bob', NULL)" 2>&1; grep -c '^ERROR 1205' "$work/err")" = 1 ]
ok 'until it is committed' answers "XA COMMIT 'two'" ''
ok 'as the next one sees' has "CALL lk_lock_acquire('two', 'bob', NULL)" 1 busy
sql "CREATE EVENT once ON SCHEDULE AT NOW() ON COMPLETION PRESERVE DO CALL lk_lock_acquire('two', 'eve', '{\"style\": \"queue\"}');
    SET GLOBAL event_scheduler = ON"
ok 'an event asks' comes_to "SELECT state FROM lk_locks WHERE owner = 'eve'" waiting

# After a restart of the server the first call of a session may be in a transaction (R11).
sql 'UPDATE lk_meta SET server_start = 5'
ok 'the first call after a restart is in a transaction' has "$in_transaction; CALL lk_lock_acquire('w', 'ann', NULL); ROLLBACK;
    CALL lk_lock_acquire('w', 'ann', NULL)" 1 'granted granted'
ok 'and the next one notices the restart' is 'SELECT server_start <> 5 FROM lk_meta' 1

for level in 'REPEATABLE READ' SERIALIZABLE 'READ UNCOMMITTED'; do
    ok "at $level nothing is decided in a transaction" code LK079 \
        "SET SESSION TRANSACTION ISOLATION LEVEL $level; START TRANSACTION; CALL lk_lock_acquire('l', 'ann', NULL)"
    ok 'nor pushed' code LK079 \
        "SET SESSION TRANSACTION ISOLATION LEVEL $level; START TRANSACTION; CALL lk_work_push('sp', '7', NULL, NULL)"
    ok 'nor claimed' code LK079 \
        "SET SESSION TRANSACTION ISOLATION LEVEL $level; START TRANSACTION; CALL lk_work_claim('sp', 1, 'w', NULL)"
    ok 'nor done' code LK079 \
        "SET SESSION TRANSACTION ISOLATION LEVEL $level; START TRANSACTION; CALL lk_work_done('sp', '1', 'bob', NULL, NULL)"
    ok 'but outside of one' has "SET SESSION TRANSACTION ISOLATION LEVEL $level; CALL lk_lock_acquire('l', 'ann', NULL);
        CALL lk_lock_release('l', 'ann', NULL, NULL, NULL)" 1 'granted ok'
    ok 'and values are read' answers "SET SESSION TRANSACTION ISOLATION LEVEL $level; START TRANSACTION;
        CALL lk_value_get('kept')" '1|0'
done

# ---- old snapshots ----

# A transaction that has read before others decide, however it came to its level; the session's is READ COMMITTED
# when it calls. WAY: what precedes the read; CALL; what it answers without the change of the other one.
old_session() { # WAY OTHERS CALLS
    mkfifo "$work/old" || exit 1
    mariadb --no-defaults -f -n -u app -S "$LK_TEST_SERVER/socket" -N -B test <"$work/old" >"$work/said" 2>"$work/err" &
    exec 3>"$work/old"
    echo "$1; SELECT 'begun' FROM lk_locks RIGHT JOIN (SELECT 1) AS x ON FALSE;" >&3
    until grep -q begun "$work/said"; do
        sleep 0.02
    done
    app "$2" >"$work/out" || return 1
    echo "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; $3; COMMIT;" >&3
    exec 3>&-
    wait $!
    rm "$work/old"
}
old_way() { # WAY OTHERS CALL
    old_session "$1" "$2" "$3; $3"
    [ "$(grep -c '^ERROR 30079 (LK079).*: ROLLBACK' "$work/err")" -eq 2 ]
}
repeatable='SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ'
for way in "$repeatable; START TRANSACTION" "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION" \
    "$repeatable; START TRANSACTION WITH CONSISTENT SNAPSHOT" "$repeatable; SET autocommit = 0" \
    "$repeatable; START TRANSACTION; SELECT COUNT(*) FROM lk_locks; CALL lk_lock_acquire('old/t', 'ben', NULL)"; do
    ok "an older snapshot is refused: $way" old_way "$way" "CALL lk_lock_acquire('old/t', 'ana', NULL)" \
        "CALL lk_lock_acquire('old/t', 'ben', NULL)"
    ok 'and there is one holder' is "SELECT owner FROM lk_locks WHERE path = 'old/t'" ana
    app "CALL lk_lock_release('old/t', 'ana', NULL, NULL, NULL)" >"$work/out"
done
# Others stay, so that the root's first deadline and whether it has waiting requests are as before.
app "CALL lk_lock_acquire('old/g', 'ana', '{\"ttl\": 300}'); CALL lk_lock_acquire('old/e', 'ana', '{\"ttl\": 900}');
        CALL lk_lock_acquire('old/g', 'cat', '{\"style\": \"queue\", \"ttl\": 300}');
        CALL lk_lock_acquire('old/g', 'ben', '{\"style\": \"queue\", \"ttl\": 900}');
        CALL lk_lock_acquire('old/r', 'ana', '{\"ttl\": 600}'); CALL lk_work_push('old/q', 'one', NULL, NULL);
        CALL lk_work_push('old/q', 'two', NULL, NULL); CALL lk_work_claim('old/q', 1, 'w', NULL);
        CALL lk_work_push('old1', 'one', NULL, NULL); CALL lk_work_push('old2', 'one', NULL, NULL)" >"$work/out"
way='SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION'
while IFS='~' read -r name others call; do
    ok "nor $name" old_way "$way" "$others" "CALL $call"
done <<'END'
a root that is new~CALL lk_lock_acquire(CONCAT('new', UUID_SHORT()), 'ana', NULL); CALL lk_lock_acquire('new/t', 'ana', NULL)~lk_lock_acquire('new/t', 'ben', NULL)
a lease that was renewed~CALL lk_lock_renew('old/r', 'ana', NULL, '{"ttl": 900}')~lk_lock_acquire('old/r', 'ben', NULL)
by an ask~CALL lk_lock_acquire('old/r', 'ana', '{"ttl": 900}')~lk_lock_acquire('old/r', 'ben', NULL)
a renewal of a lease that has ended~CALL lk_lock_release('old/r', 'ana', NULL, NULL, NULL)~lk_lock_renew('old/r', 'ana', NULL, NULL)
an ask for a lease that has ended~CALL lk_lock_release('old/e', 'ana', NULL, NULL, NULL)~lk_lock_acquire('old/e', 'ana', NULL)
an ask that waited~CALL lk_lock_release('old/g', 'ben', NULL, NULL, NULL)~lk_lock_acquire('old/g', 'ben', '{"style": "queue"}')
a value that was written~CALL lk_value_put('old/v', 'new', NULL, NULL, NULL)~lk_lock_acquire('old/v', 'ben', '{"with_value": true}')
one that is to be deleted~CALL lk_value_put('old/v', 'newer', NULL, NULL, NULL)~lk_value_delete('old/v', NULL, NULL, NULL)
an item that was cancelled~CALL lk_work_push('old/q', 'zero', NULL, '{"priority": -1}'); CALL lk_work_cancel('old/q', 'zero', 'x', NULL)~lk_work_push('old/q', 'zero', NULL, NULL)
an item that was replaced~CALL lk_work_push('old/q', 'two', 'x', '{"replace": true}')~lk_work_claim('old/q', 2, 'x', NULL)
an item that was dropped~CALL lk_work_drop('old/q', 'two', NULL)~lk_work_claim('old/q', 2, 'x', NULL)
a push~CALL lk_work_push('old/q', 'three', NULL, NULL)~lk_work_push('old/q', 'three', NULL, NULL)
what was claimed~CALL lk_work_claim('old/q', 1, 'w', NULL)~lk_work_drop('old/q', 'three', NULL)
a break~CALL lk_lock_acquire('old/b', 'ana', NULL); CALL lk_lock_break('old/b', 'x', NULL)~lk_lock_break('old/b', 'x', NULL)
a claim of what is claimed~CALL lk_work_claim('old1', 1, 'w', NULL)~lk_work_claim('old1', 1, 'x', NULL)
a claim of what is done~CALL lk_work_claim('old2', 1, 'w', NULL); CALL lk_work_done('old2', 'one', 'w', NULL, NULL)~lk_work_claim('old2', 1, 'x', NULL)
what is done~CALL lk_work_push('old/q', 'four', NULL, NULL)~lk_work_done('old/q', 'one', 'w', NULL, NULL)
END
ok 'one that nothing has changed for decides' has "$read_committed; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION;
    DO (SELECT COUNT(*) FROM lk_locks); CALL lk_lock_acquire('quiet/t', 'ben', NULL); ROLLBACK" 1 granted

# ---- the clock ----

app "CALL lk_lock_acquire('five/x', 'ann', NULL)" >"$work/out"
for moved in 'UNIX_TIMESTAMP() + 3600' 'UNIX_TIMESTAMP() - 3600' 'UNIX_TIMESTAMP() + 15552000' 1; do
    while read -r call; do
        ok "a session whose clock is at $moved does not $call" code LK079 "SET timestamp = $moved; CALL $call"
    done <<'END'
lk_lock_acquire('five/x', 'bob', NULL)
lk_lock_renew('five/x', 'ann', NULL, NULL)
lk_lock_release('five/x', 'ann', NULL, NULL, NULL)
lk_value_put('five', 'x', NULL, NULL, NULL)
lk_work_push('five', '1', NULL, NULL)
lk_work_claim('five', 1, NULL, NULL)
lk_lock_break('five/x', 'x', NULL)
END
done
ok 'as it says' grep -q 'SET timestamp = DEFAULT' "$work/err"
code LK079 "SET timestamp = UNIX_TIMESTAMP() + 3600; CALL lk_lock_acquire('five/x', 'bob', NULL)"
ok 'whichever way it was moved' grep -q 'SET timestamp = DEFAULT' "$work/err"
ok 'and the lease is shown as it is' answers "SET timestamp = UNIX_TIMESTAMP() + 3600;
    SELECT owner, state FROM lk_locks WHERE path = 'five/x'" 'ann|held'
ok 'with its clock back it decides' has "SET timestamp = 1; SET timestamp = DEFAULT; CALL lk_lock_acquire('five/x', 'bob', NULL)" 1 busy
sql "CREATE TRIGGER announce AFTER INSERT ON orders FOR EACH ROW CALL lk_work_push_inside('late', NEW.id, NULL, NULL)"
ok 'a trigger pushes at the time of the store, not of its statement' answers "$read_committed; SET @then = NOW(6);
    INSERT INTO orders SELECT 900 + SLEEP(0.3); SELECT since >= @then + INTERVAL 300000 MICROSECOND FROM lk_work
    WHERE queue = 'late'" 1
# Its push writes to the root, which hides the snapshot from the calls behind it.
pushed_before() { # WAY OTHERS CALL OUTCOME: that of the call when it is repeated
    old_session "$1" "$2" "INSERT INTO orders VALUES (77); $3; $3"
    [ "$(grep -c '^ERROR 1213 (40001).*older snapshot' "$work/err")" -eq 1 ] && [ "$(grep -c "^$4" "$work/said")" -eq 1 ]
}
for way in "$repeatable; START TRANSACTION" "$repeatable; START TRANSACTION WITH CONSISTENT SNAPSHOT"; do
    ok "a push hides no older snapshot: $way" pushed_before "$way" "CALL lk_lock_acquire('late/t', 'ana', NULL)" \
        "CALL lk_lock_acquire('late/t', 'ben', NULL)" busy
    ok 'and there is one holder' is "SELECT owner FROM lk_locks WHERE path = 'late/t'" ana
    ok 'and no push' is "SELECT (SELECT COUNT(*) FROM lk_work WHERE id = '77') + (SELECT COUNT(*) FROM orders WHERE id = 77)" 0
    app "CALL lk_lock_release('late/t', 'ana', NULL, NULL, NULL)" >"$work/out"
done
ok 'nor a value' pushed_before "$repeatable; START TRANSACTION" "CALL lk_value_put('late/v', 'new', NULL, NULL, NULL)" \
    "CALL lk_lock_acquire('late/v', 'ben', '{\"with_value\": true}')" 'granted.*new'
ok 'with none a transaction goes on behind a push' has "$read_committed; START TRANSACTION; INSERT INTO orders VALUES (78), (79);
    CALL lk_lock_acquire('late/u', 'ben', NULL); ROLLBACK; START TRANSACTION; CALL lk_lock_acquire('late/u', 'ben', NULL); ROLLBACK" \
    1 'granted granted'
ok 'of a statement that has read before' answers "$read_committed; INSERT INTO orders SELECT 901 + COUNT(*) FROM lk_locks
    WHERE path = 'none' UNION ALL SELECT 950; SELECT COUNT(*) FROM lk_work WHERE queue = 'late'" 3
sql 'DROP TRIGGER announce; DELETE FROM orders'

# ---- views, in sessions of any collation ----

for names in 'utf8mb4 COLLATE utf8mb4_general_ci' 'utf8mb4 COLLATE utf8mb4_unicode_ci' 'utf8mb4 COLLATE utf8mb4_unicode_520_ci' \
    'utf8mb4 COLLATE utf8mb4_bin' utf8mb3 latin1; do
    for view in lk_locks lk_work lk_events; do
        all=$(sql "SELECT GROUP_CONCAT('v.', COLUMN_NAME, ' = \'no such\' OR v.', COLUMN_NAME, ' = @word OR v.', COLUMN_NAME,
                ' IN (SELECT \'no such\')' SEPARATOR ' OR ') FROM information_schema.COLUMNS
            WHERE TABLE_SCHEMA = 'test' AND TABLE_NAME = '$view' AND CHARACTER_SET_NAME IS NOT NULL")
        ok "all texts of $view compare with SET NAMES $names" answers "SET NAMES $names; SET @word = 'no such';
            SELECT COUNT(*) FROM $view AS v WHERE $all" 0
    done
done
ok 'states are found' is "SELECT COUNT(*) > 0 FROM lk_locks WHERE state = 'held' AND mode = 'exclusive'" 1
ok 'every text of them has that collation' is "SELECT COUNT(*), COUNT(DISTINCT COLLATION_NAME), MIN(COLLATION_NAME)
    FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'test' AND TABLE_NAME IN ('lk_locks', 'lk_work', 'lk_events')
    AND CHARACTER_SET_NAME IS NOT NULL" '19|1|utf8mb4_bin'

# ---- what is refused ----

while IFS='~' read -r sentence call; do
    ok "$sentence" says_why "$sentence" "CALL $call"
done <<'END'
R1: a path has at least one segment, at byte 2 of the path~lk_lock_acquire('/', 'x', NULL)
R1: a segment has at least one byte, at byte 4 of the path~lk_lock_acquire('/a//b', 'x', NULL)
R1: '{' and '}' are not allowed in a path, at byte 3 of the path~lk_value_get('a/{b')
R1: '?' is not allowed in a path, at byte 2 of the path~lk_value_put('a?shared', 'x', NULL, NULL, NULL)
R1: '.' and '..' are no segments, at byte 3 of the path~lk_lock_break('a/../b', 'x', NULL)
R1: white space is not allowed in a path, at byte 10 of the path; write a blank as %20~lk_value_delete(CONCAT('Grüße/b', _utf8mb4 x'c2a0', 'f'), NULL, NULL, NULL)
R1: white space is not allowed in a path, at byte 3 of the path; write a blank as %20~lk_lock_acquire('ab\n', 'x', NULL)
R1: control characters are not allowed in a path, at byte 4 of the path~lk_lock_acquire(CONCAT('a/b', CHAR(0)), 'x', NULL)
R1: a path has at most 512 bytes, at byte 513 of the path~lk_lock_acquire(REPEAT('a/', 300), 'x', NULL)
R1: a path has at most 32 segments, at byte 65 of the path~lk_lock_acquire(REPEAT('a/', 33), 'x', NULL)
R1: a segment has at most 255 bytes, at byte 3 of the path~lk_lock_acquire(CONCAT('a/', REPEAT('b', 256)), 'x', NULL)
R2: a request has 1 to 16 parts, not 17~lk_lock_acquire('["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q"]', 'x', NULL)
R1: white space is not allowed in a path, at byte 3 of the path; several are a JSON array~lk_lock_acquire('my key?limit=1', 'x', NULL)
R1: white space is not allowed in a path, at byte 2 of the path~lk_lock_acquire('["a b", "c"]', 'x', NULL)
R1: white space is not allowed in a path, at byte 3 of the path~lk_lock_renew('my key', 'x', NULL, NULL)
R1: white space is not allowed in a path, at byte 3 of the path~lk_lock_release('my key', 'x', NULL, NULL, NULL)
R1: white space is not allowed in a path, at byte 3 of the path~lk_lock_break('my key', 'x', NULL)
R1: white space is not allowed in a path, at byte 3 of the path~lk_value_get('my key')
R1: white space is not allowed in a path, at byte 1 of the path~lk_lock_acquire(' ', 'x', NULL)
R1: white space is not allowed in a path, at byte 2 of the path~lk_lock_acquire('a ', 'x', NULL)
R1: white space is not allowed in a path, at byte 2 of the path~lk_work_push_many('a', 'b c', NULL, NULL)
R1: white space is not allowed in a path, at byte 2 of the path~lk_work_done('a', 'b c', 'x', NULL, NULL)
R1: white space is not allowed in a path, at byte 2 of the path~lk_work_unpark('a', 'b c', NULL)
R1: white space is not allowed in a path, at byte 2 of the path~lk_work_drop('a', 'b c', NULL)
R1: white space is not allowed in a path, at byte 2 of the path~lk_work_push('a', 'b', NULL, '{"needs": "c d"}')
several are a JSON array of texts~lk_lock_acquire('["a", 5]', 'x', NULL)
several are a JSON array of texts~lk_lock_acquire('["a", "b"', 'x', NULL)
R2: a request has 1 to 16 parts, not 0~lk_lock_acquire('[]', 'x', NULL)
R2: part 3: a is named twice~lk_lock_acquire('["a", "b", "/a/"]', 'x', NULL)
R2: behind '?' only shared, strict, limit=N and units=N can stand, at byte 5 of the part~lk_lock_acquire('a/b?x', 'x', NULL)
R2: 'shared' is said once, at byte 10 of the part~lk_lock_acquire('a?shared?shared', 'x', NULL)
R2: 4 units can never fit into a limit of 3~lk_lock_acquire('a?limit=3&units=4', 'x', NULL)
R2: units need a limit, at byte 9 of the part~lk_lock_acquire('a?units=4', 'x', NULL)
R2: a number from 1 to 2147483647 is needed, at byte 9 of the part~lk_lock_acquire('a?limit=2147483648', 'x', NULL)
R3: an owner has 1 to 128 bytes, not 129~lk_lock_acquire('a', REPEAT('x', 129), NULL)
R3: an owner has 1 to 128 bytes, not 0~lk_value_put('a', 'x', '', NULL, NULL)
R10: a style is try or queue, not wait~lk_lock_acquire('a', 'x', '{"style": "wait"}')
R11: a ttl is 0.05 to 31622400 seconds (366 days), not 0.049~lk_lock_acquire('a', 'x', '{"ttl": 0.049}')
R11: a ttl is 0.05 to 31622400 seconds (366 days), not -1~lk_lock_renew('a', 'x', NULL, '{"ttl": -1}')
R11: a request has a ttl or a fixed end, not both~lk_lock_acquire('a', 'x', '{"ttl": 1, "until": "2031-01-01"}')
R11: a fixed end is a date and time within 366 days~lk_lock_acquire('a', 'x', '{"until": "soon"}')
R11: a fixed end lies in the future and within 366 days~lk_lock_acquire('a', 'x', '{"until": "2001-01-01"}')
R12: what ends or moves a lease names its owner or its token~lk_lock_release('a', NULL, NULL, NULL, NULL)
R12: the reason has 1 to 1024 bytes~lk_lock_break('a', NULL, NULL)
R15: a value has at most 65536 bytes, not 65537~lk_value_put('a', REPEAT('x', 65537), NULL, NULL, NULL)
R15: a value is not NULL; lk_value_delete() deletes one~lk_value_put('a', NULL, NULL, NULL, NULL)
R19: the note has 0 to 255 bytes~lk_lock_acquire('a', 'x', JSON_OBJECT('note', REPEAT('x', 256)))
there is no option tll; there are: ttl until~lk_lock_acquire('a', 'x', '{"tll": 5}')
options are one JSON object, or NULL~lk_lock_acquire('a', 'x', '[1]')
options are one JSON object, or NULL~lk_lock_acquire('a', 'x', 'ttl')
R1: white space is not allowed in a path, at byte 2 of the path~lk_work_push('a b', '1', NULL, NULL)
R1: a path has at least one segment~lk_work_claim(NULL, 1, NULL, NULL)
R16: the item's path: an item's id is one segment of a path, 1 to 255 bytes without '/'~lk_work_push('a', 'b/c', NULL, NULL)
R16: the item's path: an item's id is one segment~lk_work_push('a', '', NULL, NULL)
R16: the item's path: an item's id is one segment~lk_work_retry('a', NULL, 'x', NULL, NULL)
R16: the item's path: an item's id is one segment~lk_work_done('a', '["b", "", "c"]', 'x', NULL, NULL)
R16: the item's path: R1: white space is not allowed in a path, at byte 4 of the path; write a blank as %20~lk_work_push('a', 'b c', NULL, NULL)
R16: the item's path: R1: '.' and '..' are no segments~lk_work_push_many('a', '["b", ".."]', NULL, NULL)
R16: the item's path: R1: a path has at most 512 bytes~lk_work_push(CONCAT(REPEAT('a', 250), '/', REPEAT('a', 250)), REPEAT('b', 200), NULL, NULL)
R16: a delay is 0 to 366 days~lk_work_push('a', 'b', NULL, '{"delay": -1}')
R16: a delay is 0 to 366 days~lk_work_retry('a', 'b', 'x', NULL, '{"delay": "soon"}')
R16: a priority is -32768 to 32767, not 32768~lk_work_push('a', 'b', NULL, '{"priority": 32768}')
R16: a priority is -32768 to 32767, not 1.5~lk_work_push('a', 'b', NULL, '{"priority": 1.5}')
R16: what the work needs: R2: part 2: a/b is named twice~lk_work_push('a', 'b', NULL, '{"needs": "a/b"}')
R16: what the work needs: R2: part 3: c is named twice~lk_work_push('a', 'b', NULL, '{"needs": ["c", "c"]}')
R16: what the work needs: R2: part 2: a/c is named twice~lk_work_push_many('a', '["b", "c"]', NULL, '{"needs": "a/c"}')
R16: what the work needs: R2: behind '?' only shared, strict, limit=N and units=N can stand~lk_work_push('a', 'b', NULL, '{"needs": "c?d"}')
R16: what the work needs: R16: a strict need is exclusive: neither shared nor with a limit~lk_work_push('a', 'b', NULL, '{"needs": "c?shared&strict"}')
R16: what the work needs: R16: a strict need is exclusive: neither shared nor with a limit~lk_work_push('a', 'b', NULL, '{"needs": ["d", "c?strict&limit=2"]}')
R16: what the work needs: R2: 'strict' is said once, at byte 10 of the part~lk_work_push('a', 'b', NULL, '{"needs": "c?strict&strict"}')
R16: only what an item needs can be strict~lk_lock_acquire('a?strict', 'x', NULL)
R16: work needs at most 15 parts, not 16~lk_work_push('a', 'b', NULL, '{"needs": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"]}')
R15: a value has at most 65536 bytes, not 65537~lk_work_push('a', 'b', REPEAT('x', 65537), NULL)
R16: 1 values for 2 items~lk_work_push_many('a', '["b", "c"]', '["x"]', NULL)
values are one JSON array, or NULL~lk_work_push_many('a', 'b', '{"b": 1}', NULL)
R16: one decision adds 1 to 1000 items, not 1001~lk_work_push_many('a', CONCAT('["b"', REPEAT(', "b"', 1000), ']'), NULL, NULL)
R16: one decision ends 1 to 1000 claims, not 0~lk_work_done('a', NULL, 'x', NULL, NULL)
R16: one decision changes 1 to 1000 items, not 0~lk_work_drop('a', '', NULL)
R16: one decision claims 1 to 256 items, not 257~lk_work_claim('a', 257, NULL, NULL)
R16: one decision claims 1 to 256 items, not 0~lk_work_claim('a', 0, NULL, NULL)
R16: the attempts are 0 to 1000000, not 1000001~lk_work_claim('a', 1, NULL, '{"max_attempts": 1000001}')
R3: the number of an ask is 1 to 9007199254740991, not 0~lk_work_claim('a', 1, NULL, '{"ask": 0}')
R3: an owner has 1 to 128 bytes, not 129~lk_work_claim('a', 1, REPEAT('x', 129), NULL)
R11: a ttl is 0.05 to 31622400 seconds (366 days), not 0~lk_work_claim('a', 1, NULL, '{"ttl": 0}')
R16: a push is again or replaces, not both~lk_work_push('a', 'b', NULL, '{"again": true, "replace": true}')
again is true or false, not 1~lk_work_push('a', 'b', NULL, '{"again": 1}')
R12: the reason has 1 to 1024 bytes~lk_work_cancel('a', 'b', NULL, NULL)
R16: the item's path: an item's id is one segment of a path~lk_work_cancel('a', 'b/c', 'why', NULL)
R16: an item that is parked has no delay~lk_work_retry('a', 'b', 'x', NULL, '{"park": true, "delay": 1}')
R12: what ends or moves a lease names its owner or its token~lk_work_done('a', 'b', NULL, NULL, NULL)
R16: the text of a failure has 0 to 1024 bytes~lk_work_retry('a', 'b', 'x', NULL, JSON_OBJECT('error', REPEAT('x', 1025)))
R16: an exit code is -2147483648 to 2147483647, not 2147483648~lk_work_retry('a', 'b', 'x', NULL, '{"exit_code": 2147483648}')
R19: the note has 0 to 255 bytes~lk_work_claim('a', 1, NULL, JSON_OBJECT('note', REPEAT('x', 256)))
there is no option ttl; there are: delay priority needs again replace~lk_work_push('a', 'b', NULL, '{"ttl": 5}')
only_parked is true or false, not 1~lk_work_drop('a', 'b', '{"only_parked": 1}')
now is true or false, not 1~lk_lock_break('a', 'why', '{"now": 1}')
END
ok 'nothing of it is in the store' is "SELECT (SELECT COUNT(*) FROM lk_requests WHERE path LIKE 'a%'),
    (SELECT COUNT(*) FROM lk_queues WHERE path LIKE 'a' OR path LIKE 'a/%'), (SELECT COUNT(*) FROM lk_items WHERE queue = 'a')" '0|0|0'
ok 'a long path is accepted' has "CALL lk_lock_acquire(CONCAT(REPEAT('ä/', 16), REPEAT('b', 255)), 'x', NULL)" 1 granted
ok 'what is over can be swept' answers 'CALL lk_sweep()' ''
ok 'what stays has a comment' is "SELECT GROUP_CONCAT(ROUTINE_NAME ORDER BY ROUTINE_NAME SEPARATOR ' ')
    FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'test' AND ROUTINE_COMMENT <> ''" \
    'lk_lock_acquire lk_lock_break lk_lock_release lk_lock_renew lk_value_delete lk_value_get lk_value_put lk_work_cancel lk_work_claim lk_work_done lk_work_drop lk_work_progress lk_work_push lk_work_push_inside lk_work_push_many lk_work_retry lk_work_unpark'
finish
