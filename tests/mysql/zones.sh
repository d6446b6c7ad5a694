#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh zones.sh LK
#
# Time zones whose clocks jump, as at the beginning and end of daylight saving time, while statements run: leases
# live as long as they would otherwise. Prints TAP.
. "${0%/*}/harness.sh"

export LK_STORE="mysql://root@/test?$server"

# A store in which the clock of the zone jumps by @jump seconds within every statement, from its beginning to where it
# reads what has passed; but for views, which take no variable, and lk_check_clock(), which knows that no two
# statements jump.
"$lk" schema mysql | sed -e '/^CREATE PROCEDURE lk_check_clock/,/^\/\//b' -e '/^CREATE .*VIEW/,/^\/\//b' \
    -e 's/NOW(6), SYSDATE(6)/NOW(6) - INTERVAL COALESCE(@jump, 0) SECOND, SYSDATE(6)/g' >"$work/schema.sql"
ok 'a store whose clock jumps is made' run_file "$work/schema.sql"
ok 'in each place' [ "$(grep -c 'INTERVAL COALESCE(@jump' "$work/schema.sql")" -gt 40 ]

first() { # SQL WORDS: the first column of its rows
    sql "$1" >"$work/out"
    [ "$(cut -f 1 "$work/out" | tr '\n' ' ')" = "$2 " ]
}
# Leases of twenty minutes and two hours, and jumps of half an hour at least.
near='BETWEEN UNIX_TIMESTAMP() + 5700 AND UNIX_TIMESTAMP() + 7201 FROM'
for jump in 3600 -3600 1800 -1800 7200 -86400; do
    path=zone/j$jump
    sql "CALL lk_lock_acquire('$path', 'ann', '{\"ttl\": 1200}'); CALL lk_work_push('work/j$jump', '1', NULL, NULL);
        CALL lk_work_claim('work/j$jump', 1, 'ann', '{\"ttl\": 1200}')" >"$work/out"
    ok "the zone jumps by $jump s: no other owner is granted" first "SET @jump = $jump;
        CALL lk_lock_acquire('$path', 'bob', NULL)" busy
    ok 'nor by the call of the library' first "SET @jump = $jump; CALL lk_ask('bob', '$path', '0', '0', '$path', 'zone',
        'try', 60000, 0, '', 16, 0)" busy
    ok 'no other worker has the item' is "SET @jump = $jump; CALL lk_work_claim('work/j$jump', 1, 'bob', NULL)" ''
    ok 'a sweep leaves both' is "SET @jump = $jump; CALL lk_sweep();
        SELECT COUNT(*) FROM lk_requests WHERE owner = 'ann' AND path IN ('$path', 'work/j$jump/1')" 2
    ok 'a renewal ends when it should' first "SET @jump = $jump; CALL lk_lock_renew('$path', 'ann', NULL, '{\"ttl\": 7200}');
        SELECT deadline_us * 0.000001 $near lk_requests WHERE path = '$path'" 'ok 1'
    ok 'and so does a grant' first "SET @jump = $jump; CALL lk_lock_acquire('new/j$jump', 'ann', '{\"ttl\": 7200}');
        SELECT deadline_us * 0.000001 $near lk_requests WHERE path = 'new/j$jump'" 'granted 1'
    ok 'that the library asks for' first "SET @jump = $jump; CALL lk_ask('ann', 'own/j$jump', '0', '0', 'own/j$jump', 'own',
        'try', 7200000, 0, '', 16, 0); SELECT deadline_us * 0.000001 $near lk_requests WHERE path = 'own/j$jump'" 'granted 1'
done

# ---- a trigger, in a zone that jumps while its statement runs ----

sql 'CREATE TABLE orders (id BIGINT PRIMARY KEY) ENGINE = InnoDB'
"$lk" schema mysql >"$work/schema.sql"
ok 'the store as it is' run_file "$work/schema.sql"
sql "CREATE TRIGGER announce AFTER INSERT ON orders FOR EACH ROW
    CALL lk_work_push_inside('late', NEW.id, NULL, '{\"delay\": 7200}')"
zones=0
new_zone() { # BEFORE AFTER: seconds east of Greenwich, up to a second from now, and then; its name in $zone
    zones=$((zones + 1)) zone=Test/Jump$zones
    sql "INSERT INTO mysql.time_zone (Use_leap_seconds) VALUES ('N'); SET @id = LAST_INSERT_ID();
        INSERT INTO mysql.time_zone_name (Name, Time_zone_id) VALUES ('$zone', @id);
        INSERT INTO mysql.time_zone_transition_type VALUES (@id, 0, $1, 0, 'A'), (@id, 1, $2, 1, 'B');
        INSERT INTO mysql.time_zone_transition (Time_zone_id, Transition_time, Transition_type_id)
        VALUES (@id, 0, 0), (@id, UNIX_TIMESTAMP() + 1, 1)"
}
id=900
while read -r before after; do
    id=$((id + 1))
    new_zone "$before" "$after"
    ok "from $before to $after s: a trigger pushes, and its delay is as it should be" is \
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; SET time_zone = '$zone';
        INSERT INTO orders SELECT $id + SLEEP(2); SELECT due_us * 0.000001 $near lk_items WHERE id = '$id'" 1
done <<'END'
0 3600
3600 0
3600 7200
-12600 -9000
END
many() { # SQL N: so often
    for i in $(seq "$2"); do
        echo "$1;"
    done
}
ok 'a push outside of a trigger sees no jump, whatever passes between two statements' sql "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION; $(many "CALL lk_work_push_inside('late', UUID_SHORT(), NULL, NULL)" 300) COMMIT"
sql "CALL lk_lock_acquire('kept', 'ann', '{\"ttl\": 1200}')" >"$work/out"
ok 'a session of another zone is no other clock' first "SET time_zone = '+13:00'; CALL lk_lock_acquire('kept', 'bob', NULL);
    SET time_zone = '-12:00'; CALL lk_lock_acquire('kept', 'bob', NULL); SET GLOBAL time_zone = '+05:45'" 'busy busy'
ok 'nor is one of the server' first "CALL lk_lock_acquire('kept', 'bob', NULL);
    SELECT deadline_us * 0.000001 BETWEEN UNIX_TIMESTAMP() AND UNIX_TIMESTAMP() + 1201 FROM lk_requests WHERE path = 'kept'" 'busy 1'
finish
