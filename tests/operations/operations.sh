#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The procedures of docs/operations.md, carried out with real files.
. "${0%/*}/../cli/harness.sh"

umask 022

# sql FILE TEXT: by SQLite's own program, as an administrator has it.
sql() {
    sqlite3 -batch -bail -cmd '.timeout 10000' "$1" "$2" 2>&1
}

# demand COMMAND...: it must end well.
demand() {
    command="$*"
    "$@" >"$work/out" 2>"$work/err"
    code=$?
    [ "$code" -eq 0 ] || complain 'expected it to end well'
}

# says EXPECTED FILE QUERY
says() {
    got=$(sql "$2" "$3")
    [ "$got" = "$1" ] || {
        command=$3
        complain "expected $1, got $got"
    }
}

# In the background: a command under `lk run OPTIONS`, which goes on until it is let go or ended.
hold() {
    mkfifo "$store.ready" "$store.go"
    "$LK_PROGRAM" run "$@" -- sh -c "echo \$LK_TOKEN >'$store.ready'; read -r _ <'$store.go'" \
        >"$work/held.out" 2>"$work/held.err" </dev/null &
    holder=$!
    read -r token <"$store.ready"
}

let_go() {
    echo >"$store.go"
    ended
}

ended() {
    command='lk run'
    wait "$holder"
    code=$?
    cp "$work/held.err" "$work/err"
}

acquire() { # the token goes into $token
    lk acquire "$@"
    expect_code 0
    token=$(cat "$work/out")
}

is_whole() { # COPY
    says ok "$1" 'PRAGMA integrity_check'
    says 0 "$1" 'SELECT count(*) FROM lk_request WHERE id NOT IN (SELECT request FROM lk_part)'
    says 0 "$1" 'SELECT count(*) FROM lk_part WHERE request NOT IN (SELECT id FROM lk_request)'
    lk -S "sqlite:$1" doctor --json
    expect_code 0
    expect '.warnings' '[]'
}

# ---- backup ----

for way in lk backup vacuum; do
    scenario "backup by $way while it is in use is one moment of the store"
    acquire long/lease --owner ana --ttl 1d
    : >"$store.busy"
    (
        number=0
        while [ -e "$store.busy" ]; do
            number=$((number + 1))
            "$LK_PROGRAM" acquire "busy/$((number % 7))" other --owner "owner$((number % 5))" --try
            "$LK_PROGRAM" release "busy/$((number % 7))" other --owner "owner$((number % 5))"
        done >/dev/null 2>&1
    ) &
    load=$!
    for copy in 1 2 3 4 5; do
        case $way in
        lk) demand "$LK_PROGRAM" backup "$store.copy$copy" ;;
        backup) demand sql "$store" ".backup '$store.copy$copy'" ;;
        vacuum) demand sql "$store" "VACUUM INTO '$store.copy$copy'" ;;
        esac
        is_whole "$store.copy$copy"
        lk -S "sqlite:$store.copy$copy" ls long --json
        expect '[.path,.owner,.token]' "[\"long/lease\",\"ana\",$token]"
    done
    rm "$store.busy"
    wait "$load"
    lk ls long --json
    expect '.token' "$token"
done

scenario 'lk backup writes a new file for this user alone, or nothing'
acquire db --owner ana
lk backup "$work/copy.db"
expect_out "$work/copy.db: $(stat -c %s "$work/copy.db") bytes"
[ "$(stat -c %a "$work/copy.db")" = 600 ] || complain 'others can read it'
lk backup "$work/copy.db"
failure 64 "lk: INVALID: $work/copy.db is there already; name a new file"
lk backup "$work/no/copy.db" --json
expect_code 69
expect .status '"unavailable"'
lk -S "sqlite:$work/none.db" backup "$work/other.db"
failure 69 'lk: UNAVAILABLE: there is nothing to copy; *'
[ ! -e "$work/none.db" ] || complain 'it made the store'
lk -S mem: backup "$work/other.db"
failure 79 'lk: UNSUPPORTED: *'
ls "$work" >"$work/left"
! grep -q 'other\.db\|copy\.db\.' "$work/left" || complain 'a part of a copy is left'

scenario 'a disk that is full leaves nothing of a copy'
acquire db --owner ana
head -c 60000 /dev/zero | tr '\0' v | "$LK_PROGRAM" put large -
command='lk backup'
(
    trap '' XFSZ # so that a write which is too long fails, as on a disk that is full
    exec prlimit --fsize=50000:unlimited "$LK_PROGRAM" backup "$work/cut.db"
) >"$work/out" 2>"$work/err"
code=$?
failure 69 "lk: UNAVAILABLE: the copy $work/cut.db*"
! ls "$work"/cut.db* 2>/dev/null || complain 'a part of it is left'

scenario 'a plain cp of a store in use misses what is in the log; with the log it is a copy'
hold held
acquire late --owner ana
demand cp "$store" "$work/alone.db"
demand cp "$store" "$work/both.db"
demand cp "$store-wal" "$work/both.db-wal"
let_go
expect_code 0
lk -S "sqlite:$work/alone.db" ls late --json
expect '.token' ''
is_whole "$work/both.db"
lk -S "sqlite:$work/both.db" ls late --json
expect '.token' "$token"

scenario 'when the last user has closed it, the file alone is all of it'
acquire late --owner ana
[ "$(stat -c %s "$store-wal")" -le 32 ] || complain 'there is something in the log'
demand cp "$store" "$store.copy"
is_whole "$store.copy"
lk -S "sqlite:$store.copy" ls --json
expect '.token' "$token"

# ---- restore ----

# A store with a copy: `kept` and `given` are held in the copy; since then `given` was given back
# and taken by ben, whose token is $after.
make_copy() {
    acquire kept --owner ana --ttl 1h
    kept=$token
    acquire given --owner ana --ttl 1h
    sql "$store" ".backup '$store.copy'"
    lk release given --owner ana --token "$token"
    expect_code 0
    acquire given --owner ben --ttl 1h
    after=$token
}

check_restored() {
    is_whole "$store"
    lk ls --json
    expect '[.path,.owner]' '["kept","ana"]
["given","ana"]'
    lk renew kept --owner ana --token "$kept"
    expect_code 0
    lk renew given --owner ben --token "$after" # granted after the copy: not known
    expect_code 78
    lk acquire given --try --owner ben # released after the copy: held again
    expect_code 75
    lk break given --now --reason restored
    expect_code 0
    acquire given --try --owner cleo
    [ "$token" -gt "$after" ] || complain "R4: $token is not above $after"
}

scenario 'restore with all clients stopped: tokens go on, later grants are not known, earlier ones are back'
make_copy
demand cp "$store.copy" "$store"
rm -f "$store-wal" "$store-shm"
check_restored

scenario 'restore in place: the same, while it is in use'
make_copy
hold elsewhere --ttl 1m
demand sql "$store" ".restore '$store.copy'"
check_restored
kill -TERM "$holder"
ended
expect_code 78

# All roots ask at once, and none of them has a token below what was granted before in any of them.
scenario 'after a restore the tokens of several roots rise above all that was granted after the copy'
for root in a b c d e f; do
    acquire "$root/x" --owner ana --ttl 1h
    lk release "$root/x" --owner ana
done
demand sql "$store" ".backup '$store.copy'"
for root in a b c d e f; do
    acquire "$root/x" --owner ben --ttl 1h
done
demand sql "$store" ".restore '$store.copy'"
asking=
for root in a b c d e f; do
    "$LK_PROGRAM" acquire "$root/x" --wait 60s --owner cleo >"$store.$root" &
    asking="$asking $!"
done
for asker in $asking; do
    wait "$asker" || complain 'an ask at once with others was refused'
done
for root in a b c d e f; do
    [ "$(cat "$store.$root")" -gt "$token" ] || complain "R4: in $root a token is not above $token"
done

scenario 'a holder granted after the backup detects the restore at its next renewal'
acquire kept --owner ana --ttl 1h
demand sql "$store" ".backup '$store.copy'"
hold late --ttl $((3 * stretch))s
demand sql "$store" ".restore '$store.copy'"
ended
expect_code 78
lk ls --json
expect '.path' '"kept"'

scenario 'a holder granted before the backup continues'
hold known --ttl $((6 * stretch))s
demand sql "$store" ".backup '$store.copy'"
demand sql "$store" ".restore '$store.copy'"
lk acquire known --owner ana --wait $((12 * stretch))s # two ttls: without its renewals it would be over
expect_code 75
let_go
expect_code 0

scenario 'what is over in the copy is over'
acquire short --owner ana --ttl 300ms
demand sql "$store" ".backup '$store.copy'"
lk release short --owner ana
acquire short --owner ben --ttl 300ms # is granted when no process is there any more
demand sql "$store" ".restore '$store.copy'"
lk acquire short --owner cleo --wait 60s
expect_code 0
lk renew short --owner ana
expect_code 78

scenario 'on another boot, what lived lives on for a minute or its ttl; a fixed end stays'
acquire long --owner ana --ttl 1h
acquire short --owner ana --ttl $((50 * stretch))s
acquire fixed --owner ana --until "$(date -u -d '+10 days' +%Y-%m-%dT%H:%M:%SZ)"
demand sql "$store" "UPDATE lk_meta SET boot_id = 'another'"
lk ls --json
expect_code 0
expect '[.path, .expires_in_ms > 0, .expires_in_ms <= (if .path == "fixed" then 864000 else 3600 end) * 1000]' \
    '["long",true,true]
["short",true,true]
["fixed",true,true]'
lk renew long --owner ana
expect_code 0

# ---- moving ----

scenario 'moved without clients: the leases are there, tokens go on'
acquire a --owner ana --ttl 1h
mkdir "$work/elsewhere"
demand mv "$store" "$work/elsewhere/locks.db"
lk -S "sqlite:$work/elsewhere/locks.db" renew a --owner ana --token "$token"
expect_code 0
before=$token
acquire b --owner ana -S "sqlite:$work/elsewhere/locks.db"
[ "$token" -gt "$before" ] || complain "R4: $token is not above $before"

scenario 'moved in use: refused, and the command ends before its lease does'
hold a --ttl $((3 * stretch))s
demand mv "$store" "$store.moved"
ended
expect_code 78
grep -q moved "$work/err" || complain 'expected a message that it was moved'

# ---- retention ----

scenario 'breaks: the last 65,536 stay on record'
acquire a --owner ana
demand sql "$store" "WITH RECURSIVE n(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM n WHERE n < 65600)
    INSERT INTO lk_audit SELECT n, n, 'ops', 'made', 'p', 'o', '', 1, 1, 1 FROM n"
lk break a --reason full
expect_code 0
says 65536 "$store" 'SELECT count(*) FROM lk_audit'
says full "$store" 'SELECT reason FROM lk_audit ORDER BY id DESC LIMIT 1'

scenario 'breaks can be kept elsewhere, and forgotten here'
acquire a --owner ana
lk break a --reason old
acquire b --owner ana
demand sql "$store" "UPDATE lk_audit SET at_unix_us = at_unix_us - 100 * 86400e6"
lk break b --reason new
lk audit --json
expect '.reason' '"old"
"new"'
demand sql "$store" "DELETE FROM lk_audit WHERE at_unix_us < 1e6 * unixepoch('now', '-90 days')"
lk audit --json
expect_code 0
expect '.reason' '"new"'

scenario 'ended tokens: swept when their five minutes are over'
demand sh -c "'$LK_PROGRAM' acquire a --owner ana && '$LK_PROGRAM' release a --owner ana"
demand sql "$store" "WITH RECURSIVE n(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM n WHERE n < 100)
    INSERT INTO lk_ended SELECT n, 'o', 'p', -300000000 FROM n"
calls=0
while [ "$(sql "$store" 'SELECT count(*) FROM lk_ended WHERE ended_us < 0')" != 0 ] &&
    [ "$calls" -lt 2000 ]; do
    calls=$((calls + 2))
    lk acquire a --owner ana
    lk release a --owner ana
done
says 0 "$store" 'SELECT count(*) FROM lk_ended WHERE ended_us < 0'

scenario 'expired requests are removed by later calls'
number=0
while [ "$number" -lt 20 ]; do
    number=$((number + 1))
    lk acquire "dead/$number" --owner ana --ttl 50ms
done
lk acquire dead --owner ben --wait 60s
expect_code 0
says 1 "$store" 'SELECT count(*) FROM lk_request'

# ---- formats ----

scenario 'a file of another format is refused, and not a byte is changed'
acquire a --owner ana
for change in 'SET format = 99, writable_from = 99' 'SET format = 0' 'SET format = 8, writable_from = 7'; do
    demand sql "$store" "UPDATE lk_meta $change; PRAGMA journal_mode = DELETE"
    before=$(md5sum <"$store")
    lk acquire b --owner ana
    failure 79 "lk: UNSUPPORTED: the store's tables *format*, and this program knows format 1: use the program that made them*"
    for command in 'ls' 'show a' 'queues' 'audit' 'doctor' 'renew a --owner ana' 'run c -- true'; do
        lk $command
        expect_code 79
    done
    [ "$(md5sum <"$store")" = "$before" ] || complain 'the file was changed'
done

scenario 'a run that waits while a newer program brings the file up to date ends, and takes nothing'
acquire a --owner ana
"$LK_PROGRAM" run a -- touch "$work/ran" 2>"$work/waited" &
waits=$!
until_true sh -c "'$LK_PROGRAM' show a | grep -q waiting"
demand sql "$store" 'UPDATE lk_meta SET format = 99, writable_from = 99'
code=0
wait "$waits" || code=$?
expect_code 79
grep -q 'UNSUPPORTED: .*have format 99, and this program knows format 1' "$work/waited" || complain "it says: $(cat "$work/waited")"
[ ! -e "$work/ran" ] || complain 'it ran'
says 1 "$store" "SELECT count(*) FROM lk_request WHERE state = 'held'"

scenario 'a newer file that older programs may write is used, with a warning'
acquire a --owner ana
demand sql "$store" 'UPDATE lk_meta SET format = 99'
lk renew a --owner ana --token "$token"
expect_code 0
lk doctor --json
expect_code 0
expect '.warnings | length' '1'
expect '.report.format | startswith("99,")' 'true'

# ---- disk full ----

scenario 'no room: UNAVAILABLE, what is held stays, nothing has to be repaired'
acquire held --owner ana --ttl 1h
size=$(stat -c %s "$store")
number=0
while [ "$number" -lt 1000 ]; do
    number=$((number + 1))
    (
        trap '' XFSZ # so that a file that may not grow is what it is on a full disk: an error
        ulimit -f $((size / 512 + 16)) # blocks of 512 bytes
        "$LK_PROGRAM" acquire --try "$(printf '%0200d/%d' 7 "$number")" --owner ana \
            >"$work/out" 2>"$work/err"
    )
    code=$?
    [ "$code" = 0 ] || break
done
command="acquire, time $number"
failure 69 'lk: UNAVAILABLE: *'
(
    trap '' XFSZ
    ulimit -f $((size / 512 + 16))
    "$LK_PROGRAM" acquire --wait $((300 * stretch))ms held --owner ben >"$work/out" 2>"$work/err"
)
code=$?
failure 69 'lk: UNAVAILABLE: *' # not TIMEOUT: nothing was judged
is_whole "$store"
says "$number" "$store" 'SELECT count(*) FROM lk_request'
lk renew held --owner ana --token "$token"
expect_code 0
lk acquire more --owner ana
expect_code 0

# ---- several users ----

scenario 'a new store is its maker alone, with what is beside it, whatever the umask'
umask 000
hold a
[ "$(stat -c %a "$store" "$store-wal" "$store-shm" | sort -u)" = 600 ] || complain 'not 600'
let_go
umask 022

scenario 'a store that was made for a group stays so, with what is beside it'
install -d -m 2770 "$work/shared"
store=$work/shared/locks.db
LK_STORE=sqlite:$store
install -m 0660 /dev/null "$store"
hold a
[ "$(stat -c %a "$store" "$store-wal" "$store-shm" | sort -u)" = 660 ] || complain 'not 660'
let_go
expect_code 0

# ---- what to watch ----

scenario 'long waits can be queried'
acquire a --owner ana
lk acquire a --owner ben --queue
lk ls --json
expect 'select(.state == "waiting" and .age_ms > 600000) | .path + " " + .owner' ''
demand sql "$store" "UPDATE lk_request SET ticket = ticket - 700 * 1000000"
lk ls --json
expect 'select(.state == "waiting" and .age_ms > 600000) | .path + " " + .owner' '"a ben"'

finish
