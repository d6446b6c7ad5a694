#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The commands of docs/sqlite.md, played.
. "${0%/*}/harness.sh"
page=$docs/sqlite.md

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
finish_page
