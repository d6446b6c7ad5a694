#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first page, played: its sixty seconds, with programs of this test in the place of the user's. Then
# what the table of docs/stores.md says of the stores that need no server.
. "${0%/*}/harness.sh"
page=$docs/../README.md

# The n-th line of a block, without its comment, in the background.
start_line() {
    sed -n "$1p" "$here/lines" | sed 's/  *#.*//' >"$here/line.$1"
    (cd "$here" && PATH=$here/bin:$PATH && exec sh -c "exec $(cat "$here/line.$1")") \
        >>"$here/said" 2>"$here/err.$1" </dev/null &
}

# What differs from run to run is one letter.
shape() {
    sed -E 's/[a-z]+@[^ ]+/O/g; s/[0-9]+/N/g; s/N[a-z]+/N/g; s/  +/ /g'
}

lists() { "$LK_PROGRAM" ls | grep -q "$1"; }

recipe 'the first line: make, and what it has made is in the PATH'
block 'Sixty seconds' sh 1 | sed 's/  *#.*//' >"$here/lines"
mkdir "$here/bin"
# shellcheck disable=SC2016 # the directory is that of the call
program bin/make 'mkdir build' 'ln -s "$LK_PROGRAM" build/lk' # what is tested has been made already
echo 'command -v lk' >>"$here/lines"
play env PATH="$here/bin:/usr/bin:/bin" sh -e "$here/lines"
expect_code 0
expect_out "$here/build/lk"
grep -q '^BUILD *?*= *build$' "${page%/*}/Makefile" || complain 'make does not build in build'

recipe 'a test, a reset and a test behind it: the page shows what lk show prints'
block 'Sixty seconds' sh 2 >"$here/lines"
mkdir "$here/bin"
mkfifo "$here/go"
program bin/sleep "read -r _ <'$here/go'" # as long as this test needs
start_line 1
until_true lists 'mytest *held'
start_line 2
until_true lists 'mydatabase *waiting'
start_line 3
until_true lists 'yourtest *waiting'
sed -n 4p "$here/lines" >"$here/line.4"
play sh "$here/line.4"
shape <"$work/out" >"$here/shown"
block 'Sixty seconds' '' | shape >"$here/documented"
diff "$here/documented" "$here/shown" >"$here/differs" || complain "$(cat "$here/differs")"
echo >"$here/go"
wait
ran 1 '*/sleep 30 mydatabase/mytest token'
[ "$(tr '\n' ' ' <"$here/said")" = 'reset test ' ] || complain "said: $(cat "$here/said")"

recipe 'more in one line each'
block 'Sixty seconds' sh 3 >"$here/lines"
for name in backup worker ui-tests send; do
    program "$name"
done
play sh -e "$here/lines"
expect_code 0
ran 4 'send 4711 mails/4711 token'
lk ls
expect_out ''

recipe 'a backup that fails is not one that runs already'
block 'Sixty seconds' sh 3 | sed -n 1p >"$here/lines"
program backup 'exit 1'
play sh "$here/lines"
expect_out ''
lk acquire backup
play sh "$here/lines"
expect_out 'runs already'
lk release backup

recipe 'the same in another store, and the rows of a table'
block 'Sixty seconds' sh 4 | sed "s|^export.*|export LK_STORE='$LK_STORE?share=yes'|
    s|--table|--drain --table|" >"$here/lines"
program deploy
program send
sqlite3 "$store" 'CREATE TABLE orders (id INTEGER PRIMARY KEY, sent INTEGER);
    INSERT INTO orders VALUES (1, 0), (2, 1), (3, 0)' >/dev/null
play sh -e "$here/lines"
expect_code 0
ran 3 'send 3 orders/3 token'
[ "$(sqlite3 "$store" 'SELECT count(*) FROM orders WHERE sent = 0')" -eq 0 ] || complain 'rows are left'

recipe 'from C: it compiles, and takes and releases the lease of the store that LK_STORE names'
{
    block 'From your language' c | sed -n '/^#include/p'
    echo 'int main(void) {'
    sed '/^#include/d' "$work/block"
    echo 'return outcome == LK_OK ? 0 : 1; }'
} >"$here/page.c"
# shellcheck disable=SC2046 # no word, or one
play cc -Wall -Wextra $("${page%/*}/tools/tried" -Werror cc) -I"${page%/*}/include" page.c "$LK_LIBRARY" -o page
expect_code 0
lk limits events=10
play env LD_LIBRARY_PATH="${LK_LIBRARY%/*}" ./page
expect_code 0
play sh -c 'lk watch --after 1 --json | head -n 2'
jq -rs 'map(.event + " " + .path) | join(", ")' "$work/out" >"$here/events"
[ "$(cat "$here/events")" = 'granted mydatabase/mytest, released mydatabase/mytest' ] ||
    complain "events: $(cat "$here/events")"

recipe 'from Python'
block 'From your language' python >"$here/page.py"
play env PYTHONPATH="${page%/*}/bindings/python" PYTHONDONTWRITEBYTECODE=1 python3 page.py
expect_code 0
grep -Eqx 'token [0-9]+' "$work/out" || complain 'no token'

recipe 'the table of stores says what lk doctor says'
serve --listen 127.0.0.1:0 --http none --ephemeral
for url in "$LK_STORE?share=yes" "$(cat "$work/served")" mem: "shm:lk-test-table-$$"; do
    "${0%/*}/stores_table.sh" "$LK_PROGRAM" "$url" >"$work/table" || complain "$(cat "$work/table")"
done
rm -f "/dev/shm/canal.lk-test-table-$$"
stop

finish_page
