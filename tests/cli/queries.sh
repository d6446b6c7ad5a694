#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lk ls, show, break, audit, doctor, schema, help and version.
. "${0%/*}/harness.sh"

entry='path ticket token state mode owner ttl_ms expires_in_ms age_ms'

# a: db/t1 held. b: db/t1 + pool waiting for a. c: other held, shared, with a note.
three_requests() {
    lk acquire db/t1 --owner a --note why
    lk acquire --queue db/t1 'pool?limit=5&units=2' --owner b
    lk acquire 'other?shared' --owner c --ttl 3h
}

scenario 'ls of nothing says nothing'
lk ls
expect_code 0
expect_out ''
expect_err ''
lk ls --json
expect_code 0
expect_out ''

scenario 'a command that only reads makes no store'
absent="$work/absent.db"
for words in ls 'show x' 'stats q' 'items q' audit doctor 'doctor --json'; do
    # shellcheck disable=SC2086 # words are parted at blanks
    "$LK_PROGRAM" -S "sqlite:$absent" $words >/dev/null 2>&1 || complain "$words of no store"
    [ ! -e "$absent" ] || complain "$words has made a store"
done
"$LK_PROGRAM" -S "sqlite:$absent" get x >/dev/null 2>&1
code=$?
expect_code 1
timeout 1 "$LK_PROGRAM" -S "sqlite:$absent" watch >/dev/null 2>&1
code=$?
expect_code 124
[ ! -e "$absent" ] || complain 'get or watch has made a store'
"$LK_PROGRAM" -S shm:lk-test-absent ls >/dev/null 2>&1 || complain 'ls of no shared memory'
[ ! -e /dev/shm/canal.lk-test-absent ] || complain 'ls has made shared memory'

scenario 'a URL that can name no store is INVALID where there is no file, too'
for url in "sqlite:$absent?durabilty=full" "sqlite:$absent?share=maybe" 'shm:lk-test-absent?kyes=3'; do
    for words in ls 'get x' watch doctor 'doctor --json'; do
        # shellcheck disable=SC2086 # words are parted at blanks
        lk -S "$url" $words
        expect_code 64
    done
    LK_STORE=$url lk ls
    failure 64 'lk: INVALID: *'
done
[ ! -e "$absent" ] || complain 'a store was made'

scenario 'an empty answer on a terminal names what there is not, and the store; elsewhere nothing is said'
none() { # WORDS TEXT
    TERM=xterm script -qec "\"\$LK_PROGRAM\" $1" /dev/null </dev/null >"$work/out"
    tr -d '\r' <"$work/out" | grep -qx "lk: $2 in $LK_STORE$3" || complain "$1: $(cat "$work/out")"
}
none ls 'nothing is held and nothing waits' ', which does not exist yet'
lk put here yes
none ls 'nothing is held and nothing waits' ''
none queues 'there is no queue' ''
none 'ls nosuch' 'nothing is held and nothing waits at or below nosuch' ''
none 'queues nosuch' 'there is no queue at or below nosuch' ''
none 'values nosuch' 'there is no value at or below nosuch' ''
none 'audit nosuch' 'no break is on record at or below nosuch' ''
lk del here
none values 'there is no value' ''
none 'items jobs' 'there is no item in the queue jobs' ''
none 'stats jobs' 'there is no queue jobs' ''
none audit 'no break is on record' ''
for words in ls values queues 'items jobs' audit 'stats jobs'; do
    # shellcheck disable=SC2086 # words are parted at blanks
    lk $words
    expect_code 0
    expect_err ''
done

scenario 'ls --json: one object a part, in queue order'
three_requests
lk ls --json
expect_code 0
expect_err ''
expect '.path' '"db/t1"
"db/t1"
"pool"
"other"'
expect 'keys_unsorted | join(" ")' '"path ticket token state mode owner note ttl_ms expires_in_ms age_ms"
"path ticket state mode owner ttl_ms expires_in_ms age_ms"
"path ticket state mode limit units owner ttl_ms expires_in_ms age_ms"
"path ticket token state mode units owner ttl_ms expires_in_ms age_ms"'
expect '[.owner, .state, .mode, .limit, .units, .note]' '["a","held","exclusive",null,null,"why"]
["b","waiting","exclusive",null,null,null]
["b","waiting","shared",5,2,null]
["c","held","shared",null,1,null]'
expect '.age_ms >= 0 and .age_ms < 60000 and .expires_in_ms <= .ttl_ms' 'true
true
true
true'

scenario 'a prefix matches whole segments'
three_requests
lk acquire db2 --owner d
lk ls db --json
expect .path '"db/t1"
"db/t1"'
lk ls db/t --json
expect_out ''
lk ls /db/t1/ --json
expect .owner '"a"
"b"'

scenario 'ls for people: aligned, no colour where there is no terminal'
three_requests
lk ls
expect_code 0
expect_err ''
grep -q "$(printf '\033')" "$work/out" && complain 'colour in a file'
[ "$(wc -l <"$work/out")" -eq 5 ] || complain 'expected a title and four lines'
head -1 "$work/out" | grep -qE '^PATH +STATE +MODE +OWNER +AGE +LEFT +TOKEN/TICKET +NOTE$' \
    || complain 'the title'
grep -qE '^db/t1 +held +exclusive +a +[0-9]+m?s +[0-9]+m?s? +[0-9]{16} +why$' "$work/out" \
    || complain 'the holder'
grep -qE '^pool +waiting +shared 2/5 +b +' "$work/out" || complain 'the waiter'
grep -qE '^other +held +shared +c +[0-9]+m?s +3h +[0-9]{16}$' "$work/out" || complain 'three hours'

scenario 'colour is for terminals, and can be declined'
lk acquire db --owner a
export LK_STORE
TERM=xterm script -qec '"$LK_PROGRAM" ls' /dev/null >"$work/out"
grep -q "$(printf '\033')" "$work/out" || complain 'no colour on a terminal'
NO_COLOR=1 TERM=xterm script -qec '"$LK_PROGRAM" ls' /dev/null >"$work/out"
grep -q '^db ' "$work/out" || complain 'no listing'
grep -q "$(printf '\033')" "$work/out" && complain 'colour in spite of NO_COLOR'

scenario 'what others have written cannot play tricks on a terminal'
lk acquire db --owner "$(printf 'ev\033[2Jil')" --note "$(printf 'two\nlines')"
lk ls
grep -q 'ev\\x1b\[2Jil' "$work/out" || complain 'the owner'
grep -q 'two\\x0alines$' "$work/out" || complain 'the note'
lk acquire -n db --owner b
failure 75 'lk: BUSY: db is held by ev\\x1b\[2Jil (two\\x0alines), *'

scenario 'show --json: all parts of what is related, with blockers for what waits'
three_requests
lk show db --json
expect_code 0
expect '[.owner, .path]' '["a","db/t1"]
["b","db/t1"]
["b","pool"]'
expect 'has("blockers")' 'false
true
true'
expect '.blockers // [] | map([.owner, .path, .state, .note])' '[]
[["a","db/t1","held","why"]]
[["a","db/t1","held","why"]]'
lk show db/t1/below --json
expect .owner '"a"
"b"
"b"'
lk show d --json
expect_code 0
expect_out ''

scenario 'show for people'
three_requests
lk show db/t1
expect_code 0
head -1 "$work/out" | grep -qxE 'STATE +OWNER +AGE +LEFT +TOKEN/TICKET +PARTS \(NOTE\)' \
    || complain 'the title'
grep -qxE 'held +a +[0-9]+m?s +[0-9]+m?s? +[0-9]{16}  db/t1 exclusive \(why\)' "$work/out" \
    || complain 'the holder'
grep -qxE 'waiting  b +[0-9]+m?s +[0-9]+m?s? +[0-9]{16}  db/t1 exclusive \+ pool shared 2/5' \
    "$work/out" || complain 'the waiter'
grep -qxE ' {9}`- a holds db/t1, [0-9]+m?s? left \(why\)' "$work/out" || complain 'the blocker'
lk show absent
expect_code 0
expect_out 'no request holds absent or waits for it'

scenario 'show of one queue is a numbered line a waiter, right however many there are'
lk acquire x --owner ana
for i in $(seq 1 50); do lk acquire --queue x --owner "ci-$i"; done
lk show x
[ "$(wc -l <"$work/out")" -eq 52 ] || complain 'not a title and a line for each request'
grep -qE '^held +ana .* x exclusive$' "$work/out" || complain 'the holder'
grep -qE '^waiting #1 +ci-1 .* x exclusive, behind ana$' "$work/out" || complain 'the first'
grep -qE '^waiting #17 +ci-17 .* x exclusive, behind ci-16$' "$work/out" || complain 'the 17th'
grep -qE '^waiting #50 +ci-50 .* x exclusive, behind ci-49$' "$work/out" || complain 'the last'

scenario 'in a queue of shared requests, each is behind the last that it has to wait for'
lk acquire x --owner a
lk acquire --queue 'x?shared' --owner b
lk acquire --queue 'x?shared' --owner c
lk acquire --queue x --owner d
lk acquire --queue 'x?limit=2' --owner e
lk show x
sed -n 's/^waiting \(#[0-9]*\) .*, behind /\1 /p' "$work/out" >"$work/behind"
printf '#1 a\n#2 a\n#3 c\n#4 d\n' | cmp -s - "$work/behind" || complain "$(cat "$work/behind")"

scenario 'in a queue the limit of the waiter alone decides, and only where it is reached'
lk acquire 'x?shared' --owner a
lk acquire 'x?limit=9' --owner b
lk acquire --queue 'x?limit=2' --owner c
lk acquire --queue x --owner d
lk acquire --queue 'x?limit=5' --owner e
lk acquire --queue 'x?limit=4' --owner f
lk acquire --queue 'x?shared' --owner g
lk show x
sed -n 's/^waiting \(#[0-9]*\) .*, behind /\1 /p' "$work/out" >"$work/behind"
printf '#1 b\n#2 c\n#3 d\n#4 e\n#5 d\n' | cmp -s - "$work/behind" || complain "$(cat "$work/behind")"

scenario 'a queue whose holder names no limit blocks one that does'
lk acquire 'x?shared' --owner a
lk acquire --queue 'x?limit=1' --owner b
lk acquire --queue 'x?shared' --owner c
expect_code 0
lk show x
grep -qE '^waiting #1 +b .* x shared 1/1, behind a$' "$work/out" || complain 'the waiter'
lk release x --owner a
lk show x
grep -qE '^waiting #1 +b .* x shared 1/1, behind c$' "$work/out" || complain 'a later holder counts'

scenario 'show draws the chain of waiters down to the holders'
lk acquire x --owner a
lk acquire --queue x y --owner b
lk acquire --queue y z --owner c
lk acquire --queue z --owner d
lk show z
sed -n '/^waiting  d /,$p' "$work/out" | sed 's/, [0-9ms]* left//' >"$work/chain"
printf '%s\n' '         `- c waits ahead for z' '            `- b waits ahead for y' \
    '               `- a holds x' >"$work/expected"
tail -n +2 "$work/chain" | cmp -s - "$work/expected" || complain "the chain: $(cat "$work/chain")"

scenario 'lines are drawn where the terminal speaks UTF-8'
lk acquire x --owner a
lk acquire --queue x y --owner b
LC_ALL=C.UTF-8 TERM=xterm script -qec '"$LK_PROGRAM" show x' /dev/null >"$work/out"
grep -q '^         └─ a holds x, ' "$work/out" || complain 'not drawn'
LC_ALL=C TERM=xterm script -qec '"$LK_PROGRAM" show x' /dev/null >"$work/out"
grep -q '^         `- a holds x, ' "$work/out" || complain 'not plain'

scenario 'broken at once: the holder has lost it, the next one has it'
lk acquire db --owner ana --json
token=$(field .token)
lk acquire --queue db --owner ben
lk break db --owner ana --reason 'host is gone' --now
expect_code 0
expect_out 'broken 1'
expect_err ''
lk renew db --owner ana
expect_code 78
lk release db --owner ana --token "$token"
expect_code 78
lk acquire --queue db --owner ben --json
expect .status '"granted"'

scenario 'broken gently: revoked, held until its deadline or its release'
lk acquire db --owner ana
lk acquire --queue db --owner ben
lk break db --owner ana --reason why --json
expect_code 0
expect_keys 'status broken'
expect '[.status, .broken]' '["ok",1]'
lk renew db --owner ana
expect_code 78
lk acquire -n db --owner ana
expect_code 78
lk acquire --queue db --owner ben
expect_code 75
lk show db
grep -q '^revoked  *ana  ' "$work/out" || complain 'revoked is shown'
lk break db --owner ana --reason why --json
expect .broken 0
lk release db --owner ana
expect_code 0
lk acquire --queue db --owner ben
expect_code 0

scenario 'what a gentle break leaves held is said, also to those that it keeps waiting'
lk acquire db --owner ana --ttl 1h
lk acquire --queue db --owner ben
lk break db/ --reason 'host is gone'
expect_code 0
expect_err ''
grep -qxE 'withdrawn 1' "$work/out" || complain 'the waiting request'
grep -qE '^revoked 1: held until .*[0-9]{2}:[0-9]{2} \([0-9hms]+\) unless its holder releases it; --now ends' \
    "$work/out" || complain 'the lease'
lk acquire -n db --owner cleo
failure 75 'lk: BUSY: db is held by ana, *left (revoked)'
lk run --wait $stretch -v db -- true
expect_code 75
grep -q '^lk: WAITING: db is held by ana, .* left (revoked)' "$work/err" || complain 'while it waits'
lk renew db --owner ana
failure 78 'lk: LOST: *on record: broken by *@* at *: host is gone; see: lk show db, lk audit db*'
lk break db --owner ana --reason 'the same again'
expect_code 0
expect_err ''
grep -qE '^revoked already 1: held until .*unless its holder releases it; --now ends' "$work/out" \
    || complain 'a lease that was revoked before'
lk break db --owner ana --reason why --now
lk acquire db --owner dan --ttl 1h
lk acquire -n db --owner cleo
failure 75 'lk: BUSY: db is held by dan, *left'
! grep -q revoked "$work/err" || complain 'the lease of dan is not'

scenario 'a run whose lease is broken is told by whom, when and why'
"$LK_PROGRAM" run deploy -- sh -c '"$LK_PROGRAM" break deploy --now --reason "host is gone" >/dev/null
    exec sleep '$((30 * stretch)) >"$work/out" 2>"$work/err"
code=$?
expect_code 78
grep -q '^lk: LOST: the lease is not held any more' "$work/err" || complain 'the loss'
grep -qE '^lk: LOST: the lease was broken by [^ ]+@[^ ]+ at .*: host is gone$' "$work/err" ||
    complain 'who, when and why'

scenario 'a break ends all at exactly the path, held and waiting'
lk acquire db --owner a
lk acquire --queue db --owner b
lk acquire --queue db/t1 --owner c
lk break db --reason why --now --json
expect .broken 2
lk ls --json
expect '[.owner, .state]' '["c","held"]'

scenario 'to break nothing is no failure'
lk break db --reason why --json
expect_code 0
expect '[.status, .broken]' '["ok",0]'
lk break -q db --reason why
expect_code 0
expect_out ''

scenario 'a break needs its reason'
lk acquire db --owner a
lk break db --now
failure 64 'lk: INVALID: *--reason*'
lk break db --now --reason ''
expect_code 64
lk ls --json
expect .owner '"a"'

scenario 'breaks are on record'
lk audit --json
expect_code 0
expect_out ''
lk acquire db/t1 --owner ana --note nightly --json
token=$(field .token)
lk acquire --queue db/t1 --owner ben
lk break db/t1 --reason 'host is gone' --now
lk acquire db2 --owner cleo
lk break db2 --reason other --now
lk audit db --json
expect_code 0
expect 'keys_unsorted | join(" ")' '"at_ms by reason path owner ticket token state note"
"at_ms by reason path owner ticket state"'
expect '[.reason, .path, .owner, .state, .note]' '["host is gone","db/t1","ana","held","nightly"]
["host is gone","db/t1","ben","waiting",null]'
expect "select(.state == \"held\") | .token == $token and (.by | test(\"^[^@]+@.\"))" true
lk audit --json
expect .path '"db/t1"
"db/t1"
"db2"'
lk audit
expect_code 0
grep -q ' by ana (nightly), ticket ' "$work/out" || complain 'what'
grep -q '^    broken by .*@.*: host is gone$' "$work/out" || complain 'the administrator and the reason'

scenario 'doctor checks the store'
lk acquire x --owner ana
lk doctor
expect_code 0
expect_err ''
grep -q "^store: $LK_STORE" "$work/out" || complain 'which store'
grep -qE '^round trip: [0-9]+ us$' "$work/out" || complain 'the round trip'
[ "$(tail -1 "$work/out")" = 'all is well' ] || complain 'the last line'
lk doctor --json
expect_code 0
expect '[.status, (.report | type), (.warnings | type)]' '["ok","object","array"]'
expect '.round_trip_us >= 0 and (.clock_offset_us | type) == "number"' true

scenario 'doctor says when it cannot be reached'
damage_store
lk doctor
failure 69 'lk: UNAVAILABLE: *'
lk doctor --json
expect_code 69
expect_err ''
expect_keys 'status error'
expect .status '"unavailable"'

scenario 'doctor finds damage that no other command has met'
lk acquire x --owner ana
lk break x --reason test --now
lk ls
expect_code 0
page=$(sqlite3 "$store" "SELECT rootpage FROM sqlite_schema WHERE name = 'lk_audit'")
sqlite3 "$store" 'PRAGMA wal_checkpoint(TRUNCATE)' >"$work/checkpoint"
printf 'not a page' | dd of="$store" bs=4096 seek=$((page - 1)) conv=notrunc 2>"$work/dd"
lk acquire y --owner ana
expect_code 0
lk doctor
failure 69 'lk: UNAVAILABLE: *damaged*lk_audit*'

scenario 'schema prints SQL that SQLite takes'
lk schema
expect_code 0
grep -q 'CREATE TABLE' "$work/out" || complain 'no SQL'
cp "$work/out" "$work/sql"
lk schema sqlite
cmp -s "$work/sql" "$work/out" || complain 'sqlite is the default'
lk schema mysql
expect_code 0
grep -q 'CREATE PROCEDURE lk_ask' "$work/out" || complain 'no procedures'
cp "$work/out" "$work/sql"
lk schema mariadb
cmp -s "$work/sql" "$work/out" || complain 'mariadb is another word for mysql'
lk -S mysql://user@nowhere/none schema
cmp -s "$work/sql" "$work/out" || complain 'the dialect is that of the store'
lk -S 'mysql://user@nowhere/none?socket=/x&prefix=app_' schema
expect_code 0
grep -q 'CREATE PROCEDURE app_ask' "$work/out" || complain 'the prefix is that of the URL'
! grep -qw 'lk_[a-z_]*' "$work/out" || complain 'no other prefix is left'
lk -S 'mysql://user@nowhere/none?prefix=app_' schema mariadb
grep -q 'CREATE PROCEDURE app_ask' "$work/out" || complain 'also where the dialect is named'
lk -S 'mysql://user@nowhere/none?prefix=app_' schema postgresql
grep -q 'CREATE SCHEMA.* lockkeeper' "$work/out" || complain 'not in another dialect'
lk -S 'postgresql://user@nowhere/none?schema=app' schema
expect_code 0
grep -q 'FUNCTION app\.' "$work/out" || complain 'the schema is that of the URL'
! grep -q 'lockkeeper\.' "$work/out" || complain 'no other schema is left'
lk -S 'mysql://user@nowhere/none?prefix=x;DROP' schema
failure 64 'lk: INVALID: prefix= is *'
lk -S 'postgresql://user@nowhere/none?schema=pg_x' schema
failure 64 'lk: INVALID: schema= is *'
lk -S redis://nowhere schema
failure 79 'lk: UNSUPPORTED: *redis*'
lk schema oracle
failure 64 'lk: INVALID: *oracle*'

scenario 'every command has its help, with an example'
for name in run acquire renew release break audit ls show top doctor serve bench schema help version; do
    lk help "$name"
    expect_code 0
    expect_err ''
    cp "$work/out" "$work/help"
    grep -q "^usage: lk $name " "$work/help" || complain 'usage'
    grep -q '^Examples:$' "$work/help" || complain 'examples'
    lk "$name" --help
    expect_code 0
    cmp -s "$work/help" "$work/out" || complain 'the same text by --help'
done
lk help
expect_code 0
grep -q '^  acquire ' "$work/out" || complain 'the list of commands'
lk --help
expect_code 0
lk help ls --json
expect_code 0
expect_keys 'status text'
expect '[.status, (.text | startswith("lk ls: "))]' '["ok",true]'
lk help nonsense
failure 64 'lk: INVALID: *nonsense*'

scenario 'the version'
lk version
expect_code 0
grep -qxE 'lk [0-9]+\.[0-9]+\.[0-9]+' "$work/out" || complain 'name and version'
cp "$work/out" "$work/version"
lk --version
cmp -s "$work/version" "$work/out" || complain 'the same by --version'
lk version --json
expect '.status' '"ok"'
expect '.version | test("^[0-9.]+$")' true

scenario 'listings show user, host and process of an owner that lk made, and --json all of it'
"$LK_PROGRAM" run x -- sh -c '"$LK_PROGRAM" ls; "$LK_PROGRAM" show x; "$LK_PROGRAM" run -n x -- true' \
    >"$work/out" 2>"$work/err"
code=$?
expect_code 75
[ "$(grep -cE ' [^ ]+@[^ ]+/[0-9]+ ' "$work/out")" -eq 2 ] || complain 'no owner in ls and show'
grep -qE 'by [^ ]+@[^ /]+/[0-9]+ \(' "$work/err" || complain 'no owner in the refusal'
! grep -qE '/[0-9]+:' "$work/out" "$work/err" || complain 'more of the owner than people need'
"$LK_PROGRAM" run x -- sh -c '"$LK_PROGRAM" ls --json; echo "$LK_OWNER" >&2' >"$work/out" 2>"$work/err"
expect .owner "\"$(cat "$work/err")\""
grep -qE '^[^ ]+@[^ ]+/[0-9]+(:[0-9a-f]+){3}$' "$work/err" || complain 'not an owner that lk made'

scenario 'an owner as listings show it is one that break takes'
lk acquire x --ttl 1h
lk ls
owner=$(sed -n 's/^x .* \([^ ]*@[^ ]*\) .*/\1/p' "$work/out")
lk break x --owner none@here/1 --now --reason test
expect_out 'broken 0'
expect_err 'lk: there is no request of this owner at x'
lk break x --owner "$owner" --now --reason test
expect_out 'broken 1'
lk acquire x --owner "$owner:1:2:3" --shared
lk acquire x --owner "$owner:1:2:4" --shared
lk break x --owner "$owner" --now --reason test
failure 64 'lk: INVALID: more than one owner is shown as *--json*'

scenario 'the note of a run is its command, unless one is given'
"$LK_PROGRAM" run x -- "$LK_PROGRAM" ls --json >"$work/out" 2>"$work/err"
note=$(printf "%.60s" "$LK_PROGRAM ls --json")
expect .note "\"$note\""
"$LK_PROGRAM" run x --note nightly -- "$LK_PROGRAM" ls --json >"$work/out" 2>"$work/err"
expect .note '"nightly"'
"$LK_PROGRAM" run x --note '' -- "$LK_PROGRAM" ls --json >"$work/out" 2>"$work/err"
expect '.note // ""' '""'

finish
