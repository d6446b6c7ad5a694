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
# The text of a made-up next format.
sql "CREATE DATABASE depot; GRANT $to_make, $to_use ON depot.* TO maker"
works "mysql://maker@/depot?$server"
"$lk" schema mysql | "${0%/*}/../procedures/next_format.py" mysql >"$work/next.sql"
mariadb --no-defaults --comments -u maker -S "$LK_TEST_SERVER/socket" depot <"$work/next.sql" >"$work/out" 2>"$work/err"
ok 'who may make it may upgrade it' [ $? -eq 0 ]
ok 'which is done' is 'SELECT format FROM lk_meta' 2 depot
ok 'there are fifteen tables and three views' is \
    "SELECT SUM(TABLE_TYPE = 'BASE TABLE'), SUM(TABLE_TYPE = 'VIEW')
     FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop'" '15|3'

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

# ---- the reading user ----

sql 'CREATE USER looker; GRANT SELECT, EXECUTE ON lockkeeper.* TO looker'
reads="mysql://looker@/lockkeeper?$server"
"$lk" -S "$own" acquire --owner gone --ttl 50ms over/due >"$work/out"
"$lk" -S "$own" push q one && "$lk" -S "$own" put v text >"$work/out"
ok 'a lease is over' comes_to "SELECT DISTINCT state FROM lk_locks WHERE owner = 'gone'" expired lockkeeper
for words in ls 'show over' audit queues values 'items q' 'stats q' 'get v' doctor; do
    # shellcheck disable=SC2086 # words
    ok "a reader may $words" says 0 '*' -S "$reads" $words
done
alert=$(awk '/^```$/ { text = 0 } text; /^```sql$/ { text = ++blocks == 2 }' "${page%/*}/dba.md")
ok 'the age of the oldest item, by state' is \
    "SELECT queue, state, items, oldest_seconds BETWEEN 0 AND 600 FROM ($alert) AS oldest" 'q|ready|1|1' lockkeeper
ok 'and sees no lease that is over' [ -z "$("$lk" -S "$reads" ls over | grep gone)" ]
ok 'it may lock nothing' says 77 '*DENIED*' -S "$reads" acquire --try x

# ---- whose code it is ----

sql 'CREATE DATABASE theirs; CREATE USER mallory, boss; GRANT ALL ON theirs.* TO mallory; GRANT ALL ON theirs.* TO app;
     GRANT ALL ON *.* TO boss; GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON theirs.* TO looker'
theirs() { # USER [OPTION]
    echo "mysql://$1@/theirs?$server${2-}"
}
as() { # USER SQL
    mariadb --no-defaults -u "$1" -S "$LK_TEST_SERVER/socket" -N -B -e "$2" theirs 2>"$work/err"
}
ok 'an application makes a store' works "$(theirs app)"
ok 'another user with rights works with it' works "$(theirs looker)"
ok 'one with rights on all is not lent to it' says 77 '*DENIED*was made by app@%*rights of boss@%*owner=USER@HOST*' \
    -S "$(theirs boss)" ls
ok 'unless the URL names it' says 0 '*' -S "$(theirs boss '&owner=app@%25')" ls
ok 'and no other one' says 77 '*DENIED*made by app@%*' -S "$(theirs looker '&owner=mallory@%25')" ls
ok 'doctor says whose it is' says 0 '*prefix: lk_, made by app@%
*' -S "$(theirs app)" doctor
sql "CREATE USER up1, up2, up3, up4, 'App'; CREATE ROLE maker_of_users; GRANT CREATE USER ON *.* TO maker_of_users;
     GRANT maker_of_users TO up1; SET DEFAULT ROLE maker_of_users FOR up1; GRANT INSERT, UPDATE ON mysql.* TO up2;
     GRANT INSERT ON mysql.db TO up3; GRANT INSERT ON \`%\`.* TO up4; GRANT ALL ON theirs.* TO up1, up2, up3, up4, 'App'"
for user in up1 up2 up3 up4; do
    ok "nor is one that could give itself rights on all, $user" says 77 "*DENIED*made by app@%*rights of $user@%*" \
        -S "$(theirs $user)" ls
done
as App 'DROP PROCEDURE lk_stats; CREATE PROCEDURE lk_stats(IN q VARBINARY(512)) SELECT 1'
ok 'a user whose name differs in case is another one' says 77 '*DENIED*lk_stats was made by App@%*' \
    -S "$(theirs app '&owner=app@%25')" ls
as mallory 'DROP PROCEDURE lk_stats; CREATE PROCEDURE lk_stats(IN q VARBINARY(512)) SELECT 1'
for user in app looker boss; do
    ok "a procedure that a stranger has replaced is refused, by $user" says 77 '*DENIED*lk_stats was made by mallory@%*' \
        -S "$(theirs $user '&owner=app@%25')" ls
done
ok 'also without a name' says 77 '*DENIED*lk_*' -S "$(theirs app)" ls
as app 'DROP PROCEDURE lk_stats; CREATE PROCEDURE lk_stats(IN q VARBINARY(512)) SELECT 1'
as mallory 'CREATE TRIGGER evil BEFORE INSERT ON lk_requests FOR EACH ROW SET NEW.owner = 1'
ok "a stranger's trigger is, too" says 77 '*DENIED*trigger evil was made by mallory@%*' -S "$(theirs boss '&owner=app@%25')" ls
as mallory 'DROP TRIGGER evil; DROP VIEW lk_work; CREATE VIEW lk_work AS SELECT 1'
ok 'and a view' says 77 '*DENIED*view lk_work was made by mallory@%*' -S "$(theirs app '&owner=app@%25')" ls

finish
