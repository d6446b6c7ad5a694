#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh dba.sh LK
#
# What docs/mysql.md tells a DBA is so: the rights, the connections, and how to remove a store. Prints TAP.
. "${0%/*}/harness.sh"

page=${0%/*}/../../docs/mysql.md

rights() { # WHAT FOR, as the page says
    sed -n "s/^| rights to $1 | \\([A-Z, ]*\\), .*/\\1/p" "$page"
}

objects() { # PATTERN of the names in the database shop
    sql "SELECT (SELECT COUNT(*) FROM information_schema.TABLES
                 WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME REGEXP '$1')
         + (SELECT COUNT(*) FROM information_schema.ROUTINES
            WHERE ROUTINE_SCHEMA = 'shop' AND ROUTINE_NAME REGEXP '$1')"
}

to_use=$(rights 'use it')
to_make=$(rights 'make it, and to upgrade it')
sql "CREATE DATABASE shop; CREATE USER maker; CREATE USER app;
     GRANT $to_make, $to_use ON shop.* TO maker; GRANT $to_use ON shop.* TO app"
store="mysql://maker@/shop?$server"
ok 'with the rights to make a store it is made' works "$store"
ok 'with those to use it it is used' works "mysql://app@/shop?$server"
ok 'who may use it may not make another' fails 77 '*DENIED*' "mysql://app@/shop?$server&prefix=other_"
sql 'ALTER TABLE lk_items DROP KEY items_by_state, DROP COLUMN place,
         ADD KEY items_by_state (queue, state, due_us, arrival);
     ALTER TABLE lk_items DROP COLUMN priority, DROP COLUMN last_exit, DROP COLUMN last_error;
     UPDATE lk_meta SET format = 4' shop
ok 'who may make it may upgrade it' works "$store"
ok 'which is done' is 'SELECT format > 4 FROM lk_meta' 1 shop
ok 'there are twelve tables and three views' is \
    "SELECT SUM(TABLE_TYPE = 'BASE TABLE'), SUM(TABLE_TYPE = 'VIEW')
     FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop'" '12|3'

connected="SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'app'"
mkfifo "$work/held"
"$lk" -S "mysql://app@/shop?$server" run a -- cat "$work/held" &
holder=$!
ok 'a holder' comes_to 'SELECT COUNT(*) FROM lk_requests WHERE held' 1 shop
ok 'has one connection' is "$connected" 1
"$lk" -S "mysql://app@/shop?$server" run a -- true &
waiter=$!
ok 'and a waiter two' comes_to "$connected" 3
: >"$work/held"
ok 'both end' wait "$holder" "$waiter"

ok 'beside a store of another prefix' works "$store&prefix=x_lk_"
others=$(objects '^x_lk_')
mine=$(objects '^lk_')
echo "# $mine things of one, $others of the other"
[ "$mine" -gt 100 ] && [ "$mine" = "$others" ]
report $? 'there are as many things of each'
mkdir "$work/bin"
cat >"$work/bin/mariadb" <<STOP
#!/bin/sh
exec $(command -v mariadb) --no-defaults -u maker -S "$LK_TEST_SERVER/socket" "\$@"
STOP
chmod +x "$work/bin/mariadb"
awk '/^This removes/ { found = 1 } found && /^```$/ { exit } text { print } found && /^```sh/ { text = 1 }' \
    "$page" >"$work/removal.sh"
ok 'what the page says to remove it runs' env PATH="$work/bin:$PATH" sh "$work/removal.sh"
ok 'nothing of it is left' [ "$(objects '^lk_')" = 0 ]
ok 'and all of the other' [ "$(objects '^x_lk_')" = "$others" ]
ok 'which works' works "$store&prefix=x_lk_"

# The commands of docs/dba.md for this server, as they are printed; URL and PATH are placeholders.
ln -s "$(realpath "$lk")" "$work/bin/lk"
cat >"$work/bin/mariadb" <<STOP
#!/bin/sh
exec $(command -v mariadb) --no-defaults -u root -S "$LK_TEST_SERVER/socket" "\$@"
STOP
sed -n '/^```sh$/,/^```$/{/^```/!p}' "${page%/*}/dba.md" | grep -v psql |
    sed "s|URL|\"\$STORE\"|; s|PATH|a|" >"$work/page.sh"
ok 'the page has commands' grep -q 'CREATE DATABASE lockkeeper' "$work/page.sh"
ok 'which run' env PATH="$work/bin:$PATH" STORE="$store" sh -e "$work/page.sh"
own="mysql://app@/lockkeeper?$server"
ok 'a store in a database of its own works' works "$own"
sql "CREATE TABLE orders (id INT PRIMARY KEY, sent INT); INSERT INTO orders VALUES (1, 0);
     REVOKE ALL ON shop.* FROM app; GRANT SELECT, UPDATE ON shop.orders TO app" shop
ok 'and does the work in a table of another' says 0 '1*' -S "$own" work --drain --table shop.orders \
    --where 'sent = 0' --done 'UPDATE shop.orders SET sent = 1 WHERE id = :id' -- echo '{id}'
ok 'which is marked' is 'SELECT sent FROM orders' 1 shop

finish
