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
    app "$1" >"$work/out"
    [ "$(tr '\n\t' ' |' <"$work/out")" = "${2:+$2 }" ]
}
has() { # SQL COLUMNS WORDS: the columns of its row by number
    app "$1" >"$work/out"
    [ "$(cut -f "$2" "$work/out" | tr '\n\t' ' |')" = "$3 " ]
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
ok 'several parts are one request' has "CALL lk_lock_acquire('db/t1 pool?limit=3&units=2', 'ann', NULL)" 1 granted
ok 'all or none' has "CALL lk_lock_acquire('db/t2 pool?limit=3&units=2', 'bob', NULL)" 1 busy
ok 'a renewal answers the deadline' has "CALL lk_lock_renew('foo', 'ann', NULL, '{\"ttl\": 3600}')" 1 ok
ok 'as the store has it' is "SELECT expires = LEFT('$(cut -f 2 "$work/out")', 24) FROM lk_locks
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
ok 'a batch ends by all of its paths' answers "CALL lk_lock_release('pool db/t1', 'ann', NULL, NULL, NULL)" ok
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

# ---- transactions ----

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
echo "$in_transaction; CALL lk_lock_release('t', 'ann', NULL, NULL, NULL); CALL lk_lock_acquire('s/a', 'ann', NULL);" >&3
until grep -q granted "$work/from"; do
    sleep 0.02
done
ok 'a lock in an open transaction keeps its root from all others' [ "$(app "SET innodb_lock_wait_timeout = 1;
    CALL lk_lock_acquire('s/b', 'bob', NULL)" 2>&1; grep -c '^ERROR 1205' "$work/err")" = 1 ]
ok 'other roots are free' has "CALL lk_lock_acquire('free', 'bob', NULL)" 1 granted
echo 'ROLLBACK; SELECT 5;' >&3
until grep -q '^5' "$work/from"; do
    sleep 0.02
done
ok 'after a rollback it is free' has "CALL lk_lock_acquire('s', 'bob', NULL)" 1 granted
ok 'and what was released is held' is "SELECT COUNT(*) FROM lk_requests WHERE path = 't' AND held" 1
exec 3>&-

# After a restart of the server the first call of a session may be in a transaction (R11).
sql 'UPDATE lk_meta SET server_start = 5'
ok 'the first call after a restart is in a transaction' has "$in_transaction; CALL lk_lock_acquire('w', 'ann', NULL); ROLLBACK;
    CALL lk_lock_acquire('w', 'ann', NULL)" 1 'granted granted'
ok 'and the next one notices the restart' is 'SELECT server_start <> 5 FROM lk_meta' 1

for level in 'REPEATABLE READ' SERIALIZABLE 'READ UNCOMMITTED'; do
    ok "at $level nothing is decided in a transaction" code LK079 \
        "SET SESSION TRANSACTION ISOLATION LEVEL $level; START TRANSACTION; CALL lk_lock_acquire('l', 'ann', NULL)"
    ok 'but outside of one' has "SET SESSION TRANSACTION ISOLATION LEVEL $level; CALL lk_lock_acquire('l', 'ann', NULL);
        CALL lk_lock_release('l', 'ann', NULL, NULL, NULL)" 1 'granted ok'
    ok 'and values are read' answers "SET SESSION TRANSACTION ISOLATION LEVEL $level; START TRANSACTION;
        CALL lk_value_get('kept')" '1|0'
done

# ---- what is refused ----

while IFS='~' read -r sentence call; do
    ok "$sentence" says_why "$sentence" "CALL $call"
done <<'END'
R1: a path has at least one segment, at byte 2 of the path~lk_lock_acquire('/', 'x', NULL)
R1: a segment has at least one byte, at byte 4 of the path~lk_lock_acquire('/a//b', 'x', NULL)
R1: '{' and '}' are not allowed in a path, at byte 3 of the path~lk_value_get('a/{b')
R1: '?' is not allowed in a path, at byte 2 of the path~lk_value_put('a?shared', 'x', NULL, NULL, NULL)
R1: '.' and '..' are no segments, at byte 3 of the path~lk_lock_break('a/../b', 'x', NULL)
R1: white space is not allowed in a path, at byte 10 of the path~lk_value_delete(CONCAT('Grüße/b', _utf8mb4 x'c2a0', 'f'), NULL, NULL, NULL)
R1: white space is not allowed in a path, at byte 3 of the path~lk_lock_acquire('ab\n', 'x', NULL)
R1: control characters are not allowed in a path, at byte 4 of the path~lk_lock_acquire(CONCAT('a/b', CHAR(0)), 'x', NULL)
R1: a path has at most 512 bytes, at byte 513 of the path~lk_lock_acquire(REPEAT('a/', 300), 'x', NULL)
R1: a path has at most 32 segments, at byte 65 of the path~lk_lock_acquire(REPEAT('a/', 33), 'x', NULL)
R1: a segment has at most 255 bytes, at byte 3 of the path~lk_lock_acquire(CONCAT('a/', REPEAT('b', 256)), 'x', NULL)
R2: a request has 1 to 16 parts, not 17~lk_lock_acquire('a b c d e f g h i j k l m n o p q', 'x', NULL)
R2: part 3: a is named twice~lk_lock_acquire('a b /a/', 'x', NULL)
R2: behind '?' only shared, limit=N and units=N can stand, at byte 5 of the part~lk_lock_acquire('a/b?x', 'x', NULL)
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
now is true or false, not 1~lk_lock_break('a', 'why', '{"now": 1}')
END
ok 'nothing of it is in the store' is "SELECT COUNT(*) FROM lk_requests WHERE path LIKE 'a%'" 0
ok 'a long path is accepted' has "CALL lk_lock_acquire(CONCAT(REPEAT('ä/', 16), REPEAT('b', 255)), 'x', NULL)" 1 granted
ok 'what is over can be swept' answers 'CALL lk_sweep()' ''
ok 'what stays has a comment' is "SELECT GROUP_CONCAT(ROUTINE_NAME ORDER BY ROUTINE_NAME SEPARATOR ' ')
    FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'test' AND ROUTINE_COMMENT <> ''" \
    'lk_lock_acquire lk_lock_break lk_lock_release lk_lock_renew lk_value_delete lk_value_get lk_value_put'
finish
