#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The commands of docs/work.md, played, with programs of this test in the place of the user's.
. "${0%/*}/harness.sh"
page=$docs/work.md

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

recipe 'a queue by hand, then many items, and one that is dropped'
block 'A queue by hand' sh >"$here/lines"
program send
play sh -e "$here/lines"
expect_code 0
ran 1 'send 4711  '
block 'A queue by hand' sh 2 >"$here/lines"
play sh -e "$here/lines"
expect_code 0
lk items mails --json
expect '[.id, .state]' '["4712","delayed"]
["4713","ready"]'

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
finish_page
