#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Pages of docs with few commands each, played: what each of them shows stands below its name.
. "${0%/*}/harness.sh"

# ---- docs/cli.md ----

begin_page cli.md

recipe 'an owner that is named, and a token that is enough'
block Options sh >"$here/lines"
play sh -e "$here/lines"
expect_code 0
lk ls
expect_out ''

recipe 'a bound request'
serve --listen 127.0.0.1:0 --http none --ephemeral
block 'Bound requests' sh | sed "s|lk://locks.example|$(cat "$work/served")|" >"$here/lines"
program deploy
play sh -e "$here/lines"
expect_code 0
ran 1 'deploy  deploy token'
stop

recipe 'a lease that stays'
block 'A lease that stays' sh >"$here/lines"
program make-reports
for host in 1 2; do
    play sh -e "$here/lines"
    expect_code 0
    expect_err ''
done
ran 1 'make-reports  reports token'

recipe 'a report of each run, with the fields that the page shows'
# shellcheck disable=SC2016 # the heading has them
block '`lk run`' sh >"$here/lines"
program deploy
play sh -e "$here/lines"
expect_code 0
ran 2 'deploy  deploy token'
# shellcheck disable=SC2016 # the heading has them
keys=$(block '`lk run`' json | jq -c keys_unsorted)
for name in runs.jsonl report.json; do
    [ "$(jq -c keys_unsorted "$here/$name")" = "$keys" ] || complain "$name: $(cat "$here/$name")"
done

recipe 'many items of JSON'
# shellcheck disable=SC2016 # the heading has them
block '`lk push QUEUE -`' sh >"$here/lines"
play sh -e "$here/lines"
expect_code 0
lk items mails --json
expect '[.id, .value, .state]' '["4711","to: ana","ready"]
["4712",null,"delayed"]'

recipe 'lk hold: the rest of the script is under the lease'
# shellcheck disable=SC2016 # the heading has them
block '`lk hold`' sh >"$here/lines"
program deploy 'lk ls --json | jq -r ".path + \" \" + .state"'
echo './deploy' >>"$here/lines"
play sh -e "$here/lines"
expect_code 0
expect_out 'deploy held'
until_true sh -c '[ -z "$(lk ls)" ]'
lk acquire deploy --owner other
sed -i "s/-w 30/-w 50ms/" "$here/lines"
play sh -e "$here/lines"
expect_code 75
ran 1 '*'

recipe 'every capability that lk doctor names is on the page'
serve --listen 127.0.0.1:0 --http none --ephemeral
for url in "$LK_STORE?share=yes" "$(cat "$work/served")" mem: "shm:lk-test-doctor-$$"; do
    lk -S "$url" run 'made?limit=1' -- true
    expect_code 0
    for word in $("$LK_PROGRAM" -S "$url" doctor --json | jq -r .report.capabilities); do
        # shellcheck disable=SC2016 # the heading has them
        sed -n '/^## `lk doctor`/,/^## `lk work`/p' "$page" | grep -q "^| .*\`$word\`.* | " || complain "$url: $word"
    done
done
rm -f "/dev/shm/canal.lk-test-doctor-$$"
stop

recipe 'every command and every option is on the page; those of serve on that of the service'
"$LK_PROGRAM" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' >"$work/commands"
[ -s "$work/commands" ] || complain 'there are no commands'
while read -r name; do
    of=$page
    [ "$name" != serve ] || of="$page $docs/service.md $docs/operations.md"
    grep -q "\`lk $name\b" "$page" || complain "lk $name is not on the page"
    # An option is there by its name, or by its letter.
    "$LK_PROGRAM" help "$name" | sed -n 's/^ *\(-.\), \(--[a-z-]*\).*/\2 `\1/p; t; s/^ *\(--[a-z-]*\).*/\1 \1/p' |
        while read -r option letter; do
            # shellcheck disable=SC2086 # names of files
            grep -q -e "$option\b" -e "$letter\b" $of || echo "lk $name $option"
        done
done <"$work/commands" >"$work/missing"
[ ! -s "$work/missing" ] || complain "not on the page: $(cat "$work/missing")"
end_page

# ---- docs/coming-from.md ----

# The block of each section, with programs of this test in the place of the user's. Every one of them must
# run under a lease.
begin_page coming-from.md

region=lk-test-router-$$

# from SECTION RUNS LAST-RUN: plays its block, whose store is this test's; nothing stays held.
from() {
    recipe "from $1"
    for name in job report deploy worker lead send mytest reset-database call-backend; do
        program "$name"
    done
    block "$1" sh | sed "/^export LK_STORE/d; s/shm:router/shm:$region/" >"$here/block.sh"
    play sh -e "$here/block.sh"
    expect_code 0
    ran "$2" "${3-}"
    lk ls
    expect_out ''
}

from flock 4 'job  *'
from 'consul lock' 2 'worker  workers token'
from 'etcdctl lock and elect' 2 'lead  service/leader token'
from redlock 0
from database-semaphore 1 'worker  foo token'
from graphile-worker 2 'send 4711 *'
from grab 2 'reset-database  mydatabase token'
from canal_lock 2 'call-backend  db token'
rm -f "/dev/shm/canal.$region"
end_page

# ---- docs/sqlite.md ----

begin_page sqlite.md

recipe 'a store by its file'
block 'The embedded store: `sqlite:PATH`' sh >"$here/lines"
sed -i 's|/var/lib/app/||' "$here/lines"
play sh -e "$here/lines"
expect_code 0
grep -q '^all is well$' "$work/out" || complain 'lk doctor'
grep -q '^db/t1 *held' "$work/out" || complain 'the view'

# removed ID: what is left of a database of an application with this application_id, and its store.
removed() {
    sqlite3 "$here/app.db" "PRAGMA application_id = $1" 'CREATE TABLE events (a)' 'INSERT INTO events VALUES (7)'
    for _ in 1 2; do # it can be made again
        lk -S "sqlite:$here/app.db?share=yes" put x y
        expect_code 0
        play sh -e "$here/lines"
        expect_code 0
        [ "$(sqlite3 "$here/app.db" .tables)" = events ] || complain "left: $(sqlite3 "$here/app.db" .tables)"
        [ "$(sqlite3 "$here/app.db" 'PRAGMA application_id')" = "$1" ] || complain 'another application_id'
        [ "$(sqlite3 "$here/app.db" 'PRAGMA integrity_check' 'SELECT a FROM events')" = "$(printf 'ok\n7')" ] ||
            complain 'the tables of the application'
    done
    lk -S "sqlite:$here/app.db" ls
    failure 64 'lk: INVALID: *share=yes*'
}

recipe 'a store is removed from a database of yours'
block 'In a database of yours' sh >"$here/lines"
removed 0

recipe 'and from one that has an application_id'
block 'In a database of yours' sh >"$here/lines"
removed 4711
end_page

# ---- docs/work.md ----

# With programs of this test in the place of the user's.
begin_page work.md

recipe 'a value that comes with the grant and goes with the release'
block Values sh >"$here/lines"
program migrate
play sh -e "$here/lines"
expect_code 0
ran 1 'migrate --from 41  '
lk get migrations/last
expect_out 42

recipe 'the values of a batch'
block Values sh 2 >"$here/lines"
lk put accounts/ana 70
play sh -e "$here/lines"
expect_code 0
lk get accounts/ana
expect_out 60
lk get accounts/ben
expect_out 10

recipe 'a queue by hand, then many items, one that is dropped, and one that is cancelled'
block 'A queue by hand' sh >"$here/lines"
program send
play sh -e "$here/lines"
expect_code 0
ran 1 'send 4711  '
block 'A queue by hand' sh 2 >"$here/lines"
play sh -e "$here/lines"
expect_code 0
lk items mails --json
expect '[.id, .state]' '["4712","delayed"]'
lk audit mails --json
expect '[.path, .reason]' '["mails/4713","sent by hand"]'

# Until nothing is left: on the page some go on until they are stopped.
drained() { sed 's/lk work mails --\(workers\|batch\)/lk work mails --drain --\1/'; }

recipe 'a pool of workers'
printf '{"id": %s, "value": "to: ana"}\n' 1 2 3 | lk push mails - >"$work/out"
block 'A pool of workers' sh | drained >"$here/lines"
program send
program send-mail 'cat >&2'
sed -n 1p "$here/lines" >"$here/first"
sed 1d "$here/lines" >"$here/second"
printf '{"id": %s, "value": "to: ana"}\n' 1 2 3 >"$here/items"
play sh -ec 'lk push mails - <items; . ./first; lk push mails - <items; PATH=$PWD:$PATH; . ./second'
expect_code 0
ran 6 'send-mail --id 3 mails/3 token'

recipe 'several items a call'
block 'A pool of workers' sh 2 | drained >"$here/lines"
program send
program send-all 'jq -c .id'
sed -n 1p "$here/lines" >"$here/first"
sed 1d "$here/lines" >"$here/second"
printf '{"id": %s, "value": "to: ana"}\n' 1 2 3 >"$here/items"
play sh -ec 'lk push mails - <items; . ./first; lk push mails - <items; . ./second'
expect_code 0
ran 2 'send 1 2 3 mails/1 mails/2 mails/3 token'

recipe 'reports of a command'
block 'A pool of workers' sh 3 | drained | sed 's/work mails -- /work mails --drain -- /' >"$here/lines"
program send
sed -n 1p "$here/lines" >"$here/first"
sed 1d "$here/lines" >"$here/second"
printf '{"id": %s, "value": "to: ana"}\n' 1 2 3 >"$here/items"
play sh -ec 'lk push mails - <items; . ./first; lk push mails - <items; . ./second'
expect_code 0
ran 6 'send [123] mails/[123] token'

recipe 'what came of an item'
block 'What came of it' sh >"$here/lines"
play sh -e "$here/lines"
expect_code 0
[ "$(grep -cx 'cat-small.png, 12 KiB' "$work/out")" = 2 ] || complain "$(cat "$work/out")"

recipe 'work in a table'
block 'Work that lives in a table of yours' sh | sed 's/--workers/--drain --workers/' >"$here/lines"
program send
sqlite3 "$here/app.db" 'CREATE TABLE orders (id INTEGER PRIMARY KEY, sent TEXT, due TEXT);
    INSERT INTO orders VALUES (1, NULL, 2), (2, NULL, 1)'
play sh -e "$here/lines"
expect_code 0
ran 2 'send [12] orders/[12] token'
[ "$(sqlite3 "$here/app.db" 'SELECT count(*) FROM orders WHERE sent IS NOT NULL')" = 2 ] ||
    complain 'the rows are not marked'
end_page

# ---- docs/wire.md ----

# The first commands: the same request by each protocol.
begin_page wire.md

recipe 'by redis-cli'
serve --listen 127.0.0.1:0 --http none --ephemeral
block 'The protocols of the service' '' | sed 's/^\$ //' >"$here/lines"
sed -n "/^redis-cli/s/7420/$(sed 's/.*://' "$work/served")/p" "$here/lines" >"$here/first"
play sh -e "$here/first"
expect_code 0
grep -qx 'status granted' "$work/out" || complain 'no grant'
stop

recipe 'by curl'
serve --listen none --http 127.0.0.1:0 --ephemeral
block 'The protocols of the service' '' | sed 's/^\$ //' >"$here/lines"
sed "/^redis-cli/d; s|localhost:7421|$(cat "$work/served")|" "$here/lines" >"$here/second"
play sh -e "$here/second"
expect_code 0
expect '[.status, .owner]' '["granted","b17"]'
stop
end_recipe

finish
