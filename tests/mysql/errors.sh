#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh errors.sh LK
#
# Errors of a database: each has its exit code and a message that says what to do, and leaves nothing
# half created. Also settings of a server that must do no harm. Prints TAP.
. "${0%/*}/harness.sh"

# What the test relies on.
set_up() { # SQL
    sql "$1" && return
    echo "Bail out! $1: $(cat "$work/err")"
    exit 1
}

# Tables, views and procedures of a database.
objects() { # DATABASE
    sql "SELECT (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '$1')
         + (SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '$1')"
}

has_line() { # PATTERN
    grep -q "$1" "$work/out"
}

has_no_line() { # PATTERN
    ! grep -q "$1" "$work/out"
}

# An ask, a long one, what sweeps, and work.
works_wholly() { # URL
    works "$1" && says 0 '*' -S "$1" acquire --try --owner me db/t1 db/t2 &&
        says 0 '*' -S "$1" ls && says 0 '*' -S "$1" push mail one &&
        says 0 '*one*' -S "$1" claim --owner me mail &&
        says 0 '*' -S "$1" "done" --owner me mail one
}

# ---- getting in ----

local="127.0.0.1:$LK_TEST_PORT"
sql "CREATE USER needy IDENTIFIED BY 'right'"
ok 'a wrong password is DENIED, and not printed' \
    fails 77 '*DENIED*needy*~/.my.cnf*' "mysql://needy:secret@/test?$server"
ok 'so is none' fails 77 '*DENIED*needy*' "mysql://needy@$local/test"
ok 'so is an unknown user' fails 77 '*DENIED*unknown-user*' "mysql://unknown-user@/test?$server"
ok 'so is a database that the user may not use' \
    fails 77 '*DENIED*needy*granted*' "mysql://needy:right@$local/test"
sql "GRANT ALL ON test.* TO needy"
ok 'a right password is accepted' works "mysql://needy:right@$local/test?prefix=a_"
printf '[client]\npassword=right\n' >"$work/.my.cnf"
ok 'also one of ~/.my.cnf' works "mysql://needy@$local/test?prefix=a_"
rm "$work/.my.cnf"
sql "CREATE USER 'od/d' IDENTIFIED BY 'p@ss:w?rd'; GRANT ALL ON test.* TO 'od/d'"
ok 'also one with reserved characters of URLs' \
    works "mariadb://od%2fd:p%40ss:w%3Frd@$local/test?prefix=a_"
ok 'a missing database is UNAVAILABLE' \
    fails 69 '*UNAVAILABLE*none*CREATE DATABASE*' "mysql://root@/none?$server"
ok 'so is a server that is not there' \
    fails 69 '*UNAVAILABLE*is the server there*' "mysql://root@/test?socket=$work/socket"
ok 'so is a host that does not answer' \
    fails 69 '*UNAVAILABLE*is the server there*' 'mysql://root@127.0.0.1:1/test'
ok 'so is a server without TLS, where TLS is wanted' \
    fails 69 '*UNAVAILABLE*TLS*' "mysql://root@$local/test?ssl-mode=required"
ok 'an unknown option is INVALID' \
    fails 64 '*INVALID*options*' "mysql://root@/test?$server&colour=red"
ok 'so is a prefix that is no name' \
    fails 64 '*INVALID*prefix=*' "mysql://root@/test?$server&prefix=A-b"
ok 'so is an unknown ssl-mode' \
    fails 64 '*INVALID*ssl-mode=*' "mysql://root@/test?$server&ssl-mode=some"
ok 'so is a port that is none' fails 64 '*INVALID*mysql://*' 'mysql://root@127.0.0.1:66000/test'
ok 'so is a URL without a database' fails 64 '*INVALID*mysql://*' "mysql://root@$local"
ok 'so is a URL without its slashes' fails 64 '*INVALID*mysql://*' 'mysql:here'

# ---- rights ----

sql "CREATE DATABASE shop; CREATE USER app; GRANT SELECT ON shop.* TO app"
app="mysql://app@/shop?$server"
ok 'without the right to create tables the message says how to get it' fails 77 '*DENIED*lk schema mysql*' "$app"
sql "GRANT CREATE, DROP, SELECT, INSERT, UPDATE, DELETE ON shop.* TO app"
ok 'so is a user that may create tables but no procedures' fails 77 '*DENIED*lk schema mysql*' "$app"
ok 'its tables are removed again' [ "$(objects shop)" = 0 ]
sql "CREATE DATABASE barn; CREATE USER almost;
     GRANT CREATE, DROP, ALTER, SELECT, INSERT, CREATE VIEW, CREATE ROUTINE, ALTER ROUTINE, EXECUTE
     ON barn.* TO almost"
set_up "GRANT CREATE, UPDATE ON barn.lk_roots TO almost; GRANT CREATE, UPDATE ON barn.lk_queues TO almost"
ok 'a creation that fails at its last step is reported' fails 77 '*DENIED*lk_meta*' "mysql://almost@/barn?$server"
ok 'and leaves what others may use already' is 'SELECT COUNT(*) FROM lk_meta' 1 barn
ok 'the next client finds a complete store' works "mysql://root@/barn?$server&owner=almost@%25"
sql "REVOKE ALL ON shop.* FROM app; GRANT SELECT ON shop.* TO app"
"$lk" schema mysql >"$work/schema.sql"
ok 'a DBA makes it with lk schema' run_file "$work/schema.sql" shop
ok 'twice does no harm' run_file "$work/schema.sql" shop
ok 'a user without access gets the missing grants in the message' fails 77 '*DENIED*grant*' "$app"
# The lines to grant are in the schema's own text.
sed -n 's/^-- *\(GRANT .*;\)$/\1/p' "$work/schema.sql" >"$work/grants.sql"
sql "$(cat "$work/grants.sql")"
ok 'with what it says to grant it works' works "$app"
sql "SHOW GRANTS FOR app" >"$work/out"
ok 'without a right to create anything' has_no_line 'CREATE\|ALTER\|DROP\|ALL'
made_by_hand=$(objects shop)
sql "CREATE DATABASE desk; GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON desk.* TO app;
    SET GLOBAL autocommit = 0"
run_file "$work/schema.sql" desk
sql 'SET GLOBAL autocommit = 1'
ok 'a DBA makes all of it, also where nothing is committed by itself' \
    works "mysql://app@/desk?$server"
sql 'CREATE DATABASE auto'
ok 'the engine makes the same' works "mysql://root@/auto?$server"
ok 'as many things' [ "$(objects auto)" = "$made_by_hand" ]
routines="SELECT ROUTINE_NAME, ROUTINE_DEFINITION, SQL_MODE, SECURITY_TYPE
    FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA ="
sql "$routines 'shop' ORDER BY 1" >"$work/shop"
sql "$routines 'auto' ORDER BY 1" >"$work/auto"
ok 'word for word' cmp -s "$work/shop" "$work/auto"

ok 'for a prefix of its own the message names the prefix' \
    fails 77 "*DENIED*lk -S 'mysql:?prefix=own_' schema*" "mysql://app@/desk?$server&prefix=own_"
"$lk" -S 'mysql:?prefix=own_' schema >"$work/own.sql"
ok 'a DBA makes that, too' run_file "$work/own.sql" shop
ok 'beside the other one' [ "$(objects shop)" = $((2 * made_by_hand)) ]
ok 'it works' works "$app&prefix=own_"
ok 'in its own tables' is 'SELECT COUNT(*) FROM own_roots' 1 shop

# ---- servers that are set up otherwise ----

set_up 'SET GLOBAL max_allowed_packet = 65536'
head -c 60000 /dev/urandom >"$work/large"
large_push() {
    "$lk" -S "mysql://root@/test?$server&prefix=a_&owner=needy@%25" push mail large - <"$work/large"
}
large_push >"$work/out" 2>"$work/err"
ok 'a call that is larger than the server takes is INVALID' [ $? -eq 64 ]
ok 'and the message names the setting' grep -q max_allowed_packet "$work/err"
set_up 'SET GLOBAL max_allowed_packet = 16777216'
ok 'with a greater one it is done' large_push

set_up "CREATE USER reader; GRANT ALL ON test.* TO reader; SET GLOBAL read_only = 1"
ok 'a server that can only be read is UNAVAILABLE' \
    fails 69 '*UNAVAILABLE*primary*' "mysql://needy:right@$local/test?prefix=a_"
ok 'and nothing is made there' \
    fails 69 '*UNAVAILABLE*primary*' "mysql://needy:right@$local/test?prefix=unmade_"
ok 'not even half' [ -z "$(sql "SHOW TABLES LIKE 'unmade%'")" ]
case $(sql 'SELECT VERSION()') in
*MariaDB*) isolation=tx_isolation own_mode=ORACLE may_write='READ ONLY ADMIN' ;;
*) isolation=transaction_isolation own_mode=TIME_TRUNCATE_FRACTIONAL may_write=SUPER ;;
esac
calls() {
    sql "SHOW GLOBAL STATUS LIKE 'Com_call_procedure'" | cut -f2
}
needy="mysql://needy:right@$local/test?prefix=a_" root="mysql://root@127.0.0.1:$LK_TEST_PORT/test?prefix=a_&owner=needy@%25"
ok 'a call that would wait fails at once' \
    says 69 '*UNAVAILABLE*primary*' -S "$needy" acquire --owner me --wait 10m db/late
ok 'so is a claim' says 69 '*UNAVAILABLE*primary*' -S "$needy" claim --owner me --wait 10m mail
set_up 'SET GLOBAL read_only = 0'
ok 'a server may become a replica during a wait' says 0 '*' -S "$root" acquire --owner first db/late
token=$(cat "$work/out")
"$lk" -S "$needy" acquire --owner me db/late >"$work/late" 2>&1 &
late=$!
while ! "$lk" -S "$root" ls | grep -q waiting && kill -0 "$late" 2>/dev/null; do
    sleep 0.05
done
set_up 'SET GLOBAL read_only = 1'
calls_before=$(calls)
while [ "$(calls)" = "$calls_before" ] && kill -0 "$late" 2>/dev/null; do
    sleep 0.05
done
# A session may what its user might when it began: a new one finds another server, as it were.
set_up "GRANT $may_write ON *.* TO needy"
ok 'the wait ends with a grant there' says 0 '*' -S "$root" release --owner first --token "$token" db/late
wait "$late"
report $? 'on a new connection'
sql "REVOKE $may_write ON *.* FROM needy; SET GLOBAL read_only = 0"
for level in REPEATABLE-READ SERIALIZABLE READ-UNCOMMITTED; do
    set_up "SET GLOBAL $isolation = '$level'"
    ok "a default of $level does no harm" works "mysql://root@/test?$server&prefix=b_"
done
set_up "SET GLOBAL $isolation = DEFAULT"
for mode in "$own_mode" ANSI "NO_BACKSLASH_ESCAPES,ANSI_QUOTES" "" TRADITIONAL; do
    set_up "SET GLOBAL sql_mode = '$mode'"
    ok "nor does sql_mode '$mode'" works "mysql://root@/test?$server&prefix=b_"
    set_up "DROP DATABASE IF EXISTS odd; CREATE DATABASE odd CHARACTER SET ucs2"
    ok 'not even for making it, in any character set' works "mysql://root@/odd?$server"
done
set_up "SET GLOBAL sql_mode = DEFAULT; SET GLOBAL autocommit = 0"
ok 'nor a default without autocommit' works "mysql://root@/test?$server&prefix=b_"
sql "SET GLOBAL autocommit = 1"
# What sessions begin with decides neither how transactions end nor what procedures find out.
settings=0
while read -r name value; do
    settings=$((settings + 1))
    set_up "SET GLOBAL $name = $value"
    case $name,$own_mode in
    max_error_count,ORACLE | [!m]* | max_join*)
        ok "nor does $name = $value" works_wholly "mysql://root@/test?$server&prefix=b_"
        ok 'nor for making it' works_wholly "mysql://root@/test?$server&prefix=s${settings}_"
        ;;
    *) # MySQL requires a privilege to set it for a session
        ok "$name = $value is refused" says 79 '*default, 1024, is right*' -S "mysql://root@/test?$server&prefix=b_" ls
        ;;
    esac
    set_up "SET GLOBAL $name = DEFAULT"
done <<END
completion_type 1
completion_type 2
max_error_count 0
max_join_size 1
sql_select_limit 0
sql_auto_is_null 1
group_concat_max_len 4
END

# ---- stores of other programs ----

url="mysql://root@/test?$server&prefix=mine_"
ok 'a store is made on first use' works "$url"
sql 'UPDATE mine_meta SET format = 99'
ok 'a newer format is UNSUPPORTED' fails 79 '*UNSUPPORTED*format 99*newer*' "$url"
sql 'CREATE TABLE theirs_meta (colour TEXT)'
ok 'a foreign table named meta is refused' fails 79 '*UNSUPPORTED*no format of Lockkeeper*' \
    "mysql://root@/test?$server&prefix=theirs_"
ok 'and nothing is added to it' [ "$(sql "SHOW TABLES LIKE 'theirs%'")" = theirs_meta ]
sql 'UPDATE mine_meta SET format = 1; DROP TABLE mine_requests'
ok 'a store that is not whole is UNAVAILABLE' fails 69 '*UNAVAILABLE*incomplete*' "$url"
sql 'DELETE FROM a_meta'
ok 'an incomplete store is completed' works "mysql://root@/test?$server&prefix=a_&owner=needy@%25"

# Another client is making it, for longer than calls are patient.
making="CONCAT('lockkeeper ', LEFT(SHA2('test.late_', 256), 40))"
sql "DO GET_LOCK($making, 0), SLEEP(12)" &
maker=$!
comes_to "SELECT IS_USED_LOCK($making) IS NOT NULL" 1
ok 'a client waits while another one creates the store' works "mysql://root@/test?$server&prefix=late_"
wait "$maker"

# ---- in a caller's transaction, and for people ----

url="mysql://root@/test?$server&prefix=own_"
works "$url"
sql "CREATE TABLE notes (text VARCHAR(20)) ENGINE = InnoDB"
sql "BEGIN; INSERT INTO notes VALUES ('mine'); CALL own_sweep(); ROLLBACK"
ok 'a transaction of the caller is not committed' [ -z "$(sql 'SELECT * FROM notes')" ]
"$lk" -S "$url" acquire --try --owner me --note "it's \\ \"mine\"" db/t1 >"$work/out" 2>"$work/err"
sql 'SELECT path, state, mode, owner, note FROM own_locks' | tr '\t' '|' >"$work/out"
ok 'the view explains itself' \
    [ "$(cat "$work/out")" = "db/t1|held|exclusive|me|it's \\\\ \"mine\"" ]
hostile="';DROP TABLE own_meta;--"
"$lk" -S "$url" acquire --try --owner "$hostile" "db/';DROP_TABLE_own_meta;--" >"$work/out" 2>"$work/err"
"$lk" -S "$url" ls --json >"$work/out" 2>"$work/err"
ok 'hostile names stay names' has_line 'DROP_TABLE_own_meta;--.*DROP TABLE own_meta;--'
# An error that no handler of a procedure sees, as the end of the server's stack is one. A waiter asks
# again, on the same connection.
cat >"$work/left.sql" <<STOP
DELIMITER //
DROP PROCEDURE own_ask //
CREATE PROCEDURE own_ask(a TEXT, b TEXT, c TEXT, d TEXT, e TEXT, f TEXT, g TEXT, h BIGINT, i BIGINT,
    j TEXT, k INT, l INT)
BEGIN
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION;
    SELECT root INTO @locked FROM own_roots LIMIT 1 FOR UPDATE;
    SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1436, MESSAGE_TEXT = 'the stack is full';
END //
STOP
run_file "$work/left.sql"
ok 'what a call leaves locked is undone before the next one' \
    says 69 '*the stack is full*' -S "$url" acquire --owner me --wait 2s db/t3
"$lk" -S "$url" doctor >"$work/out" 2>"$work/err"
ok 'lk doctor says where it is' has_line '^prefix: own_, made by root@localhost$'
ok 'and warns of what is not durable here' has_line 'innodb_flush_log_at_trx_commit'

finish
