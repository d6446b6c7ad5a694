#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh tokens.sh LK
#
# R4: tokens and tickets still rise after a fail-over that lost the last grants, and in a restored
# copy, whose sequence is behind the numbers drawn since. Several clients draw at once, in several
# roots and by each code path, while one client is advancing the sequence. Prints TAP.
. "${0%/*}/harness.sh"
. "${0%/*}/servers.sh"

# shellcheck disable=SC2317 # called by the trap
stop() {
    stop_standby
    rm -rf "$work"
}
trap stop EXIT
store="postgresql://postgres@/postgres?$server" # which calls go to
database=postgres                               # and `sql` about it

# ---- what draws ----

prepare() { # NAME: of what is drawn later
    says 0 '*' -S "$store" acquire --ttl 1h --owner holder "queued-$1" &&
        says 0 '*' -S "$store" acquire --ttl 1h --owner reader --shared "converted-$1" &&
        says 0 '*' -S "$store" acquire --ttl 1h --owner holder "granted-$1" &&
        says 75 '*' -S "$store" acquire --ttl 1h --owner next --queue "granted-$1" &&
        says 0 '*' -S "$store" push "claimed-$1/q" one x
}

# None of them is a try, which ends after 1.5 s without an answer: until then a busy machine has not
# started them all.
drawer_count=8
draw() { # WAY ARGUMENT...: what it says is in $work/draw-WAY
    file=$work/draw-$1
    shift
    "$lk" -S "$store" "$@" >"$file" 2>&1 &
    drawers="$drawers $!"
}

draw_all() { # NAME
    rm -f "$work"/draw-*
    drawers=
    draw short acquire --wait 5m --json --owner me "short-$1/x"
    draw lane acquire --wait 5m --json --owner me --limit 9 "lane-$1/x"
    draw batch acquire --wait 5m --json --owner me "batch-1-$1/x" "batch-2-$1/x"
    draw queued acquire --queue --json --owner me "queued-$1"
    draw converted acquire --wait 5m --json --owner reader "converted-$1"
    draw claimed claim --wait 5m --json --owner me "claimed-$1/q"
    draw granted release --owner holder "granted-$1"
    draw pushed push "pushed-$1/q" one x
}

all_drawn() { # NAME
    for drawer in $drawers; do
        wait "$drawer"
    done
    drawn=0 smallest=9223372036854775807
    for number in $(sed -n 's/.*"token":\([0-9]*\).*/\1/p; s/.*"waiting".*"ticket":\([0-9]*\),"ttl.*/\1/p' \
        "$work"/draw-*) $(sql "SELECT r.token FROM lockkeeper.requests AS r
            WHERE r.owner = 'next' AND r.root = 'granted-$1' AND r.held
            UNION ALL SELECT i.sequence FROM lockkeeper.items AS i WHERE i.queue = 'pushed-$1/q'" \
        "$database"); do
        drawn=$((drawn + 1))
        [ "$number" -ge "$smallest" ] || smallest=$number
    done
}

are_above() { # FLOOR: all that was drawn is greater
    cat "$work"/draw-* >"$work/out"
    echo "$drawn drawn, the smallest is $smallest, the floor $1" >"$work/err"
    [ "$drawn" -eq "$drawer_count" ] && [ "$smallest" -gt "$1" ]
}

# A session that is at moving the sequence on, for as long as we like.
begin_moving() {
    mkfifo "$work/mover"
    psql -h "$LK_TEST_SERVER" -U postgres -Atq "$database" <"$work/mover" >"$work/moved" 2>&1 &
    mover=$!
    exec 9>"$work/mover"
    echo "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('lockkeeper', 0));" >&9
    comes_to "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted" 1 "$database"
}

all_wait() { # [CONDITION]: for a lock of this kind
    comes_to "SELECT count(*) FROM pg_locks
        WHERE locktype = 'advisory' AND NOT granted AND ${1-true}" "$drawer_count" "$database"
}

end_moving() { # SQL
    echo "$1 COMMIT;" >&9
    exec 9>&-
    wait "$mover"
    rm "$work/mover"
}

# ---- a fail-over that forgets ----

prepare failover && prepare moved && prepare raced && start_standby
report $? 'a standby follows'
sql "ALTER SYSTEM SET primary_conninfo = ''" "$standby" # of what comes now it does not hear
sql 'SELECT pg_reload_conf()' "$standby" >"$work/out"
comes_to 'SELECT count(*) FROM pg_stat_wal_receiver' 0 "$standby"
floor=0
for root in short lane batch-1 batch-2; do
    floor=$("$lk" -S "$store" acquire --ttl 1h --owner forgotten "$root-failover/forgotten")
done
stop_primary
promote_standby
report $? 'it is cut off, and promoted behind the last grants'
database=$standby
store="postgresql://postgres@/postgres?host=$work/standby"
draw_all failover
all_drawn failover
ok 'what is drawn there at once is above what was forgotten' are_above "${floor:-0}"

# ---- a copy of yesterday ----

unprivileged "$programs/pg_dump" -h "$work/standby" -U postgres -n lockkeeper postgres \
    >"$work/dump.sql" 2>"$work/err"
sql 'CREATE DATABASE restored' "$standby"
database="host=$work/standby dbname=restored"
psql -U postgres -v ON_ERROR_STOP=1 -qf "$work/dump.sql" "$database" >"$work/out" 2>"$work/err"
report $? 'a dump is restored'
store="postgresql://postgres@/restored?host=$work/standby"
floor=$("$lk" -S "$store" acquire --ttl 1h --owner me floor)
sql "SELECT setval('lockkeeper.draws', $floor - 86400000000)" "$database" >"$work/out"
begin_moving
draw_all moved
ok 'a draw waits while the sequence is being advanced' all_wait
ok 'and no draw for another one' all_wait "mode = 'ShareLock'"
end_moving ''
all_drawn moved
ok 'and is above what was there' are_above "$floor"

sql "SELECT setval('lockkeeper.draws', $floor - 86400000000)" "$database" >"$work/out"
begin_moving
draw_all raced
ok 'so it is where others have drawn much meanwhile' all_wait
ahead=$((floor + 86400000000))
end_moving "SELECT setval('lockkeeper.draws', $ahead);"
all_drawn raced
ok 'whose numbers are not drawn twice' are_above "$ahead"

# A session that is stopped where it knows the time and is to move the sequence there: before it
# goes on, others have drawn numbers beyond that time.
sql "CREATE SEQUENCE public.meanwhile" "$database"
sql "CREATE OR REPLACE FUNCTION lockkeeper.now_us() RETURNS bigint LANGUAGE plpgsql AS \$\$
     DECLARE
         moment_us bigint := extract(epoch FROM clock_timestamp()) * 1000000;
     BEGIN
         IF EXISTS (SELECT FROM pg_locks AS l
                    WHERE l.pid = pg_backend_pid() AND l.locktype = 'advisory'
                      AND l.classid::bigint << 32 | l.objid::bigint
                          = hashtextextended('lockkeeper', 0))
            AND (SELECT last_value FROM public.meanwhile) = 1 THEN
             PERFORM setval('public.meanwhile', max(nextval('lockkeeper.draws')))
             FROM generate_series(1, 100000);
         END IF;
         RETURN moment_us;
     END \$\$" "$database"
last=$(sql "SELECT setval('lockkeeper.draws', lockkeeper.now_us() - 20000);
     SELECT lockkeeper.draw()" "$database" | tail -n 1)
others=$(sql 'SELECT last_value FROM public.meanwhile' "$database")
echo "others drew up to $others, and this session $last" >"$work/err"
[ "$others" -gt 1 ] && [ "$last" -gt "$others" ]
report $? 'nor are those that others draw while a session is at moving it'

finish
