#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: with_server.sh services_options.sh LK
#
# lk serve --store mysql://...: what it refuses, each with its exit code and a sentence that says what
# to do, and nothing changed in the database. Passwords are shown nowhere. Prints TAP.
. "${0%/*}/harness.sh"

url="mysql://root@/test?$server"
. "${0%/*}/../procedures/services_options.sh"

untouched() {
    is "$count_made" 0
}

# ---- options ----

refuses_options
ok 'an unknown option of the URL is refused' refuses 64 '*INVALID*prefix*' --store "$url&schema=app"
ok 'none of them has made anything' untouched

# ---- the database ----

ok 'a server that is not there is UNAVAILABLE' \
    refuses 69 '*UNAVAILABLE*is the server there*' --store mysql://ann:secret@127.0.0.1:1/test
ok 'an unknown user is DENIED' \
    refuses 77 '*DENIED*user*' --store "mysql://stranger:secret@/test?$server"
ok 'an unknown database is UNAVAILABLE' \
    refuses 69 '*UNAVAILABLE*CREATE DATABASE*' --store "mysql://root@/nowhere?$server"
sql "CREATE USER app@localhost; GRANT SELECT ON test.* TO app@localhost"
ok 'one that may not make the tables is DENIED' \
    refuses 77 '*DENIED*grant it*CREATE ROUTINE*' --store "mysql://app@/test?$server"
sql "GRANT CREATE ROUTINE, ALTER ROUTINE, EXECUTE ON test.* TO app@localhost"
ok 'so is one that may make a part of them' \
    refuses 77 '*DENIED*grant it*CREATE ROUTINE*' --store "mysql://app@/test?$server"
ok 'nothing is left' untouched
sql 'SET GLOBAL max_allowed_packet = 1048576'
ok 'a server that takes only small packets is UNSUPPORTED' \
    refuses 79 '*UNSUPPORTED*max_allowed_packet is 1048576*set it to 16M*' --store "$url"
sql 'SET GLOBAL max_allowed_packet = 16777216'
ok 'nor is anything left' untouched
sql 'SET GLOBAL read_only = 1; CREATE USER reader@localhost; GRANT ALL ON test.* TO reader@localhost;
    REVOKE READ_ONLY ADMIN ON *.* FROM reader@localhost' || sql 'SET GLOBAL read_only = 1'
ok 'a replica is UNAVAILABLE' refuses 69 '*name the primary*' --store "mysql://reader@/test?$server"
sql 'SET GLOBAL read_only = 0'
ok 'there as well nothing is left' untouched

# ---- a service that starts ----

sql "GRANT ALL ON test.* TO app@localhost; SET PASSWORD FOR app@localhost = PASSWORD('secret')" ||
    sql "ALTER USER app@localhost IDENTIFIED BY 'secret'"
ok 'a service makes the tables and leads' start --store "mysql://app:secret@/test?$server"
ok 'it leads' leads
ok 'its password is in no title and no log' secretless
ok 'its tables can be read' is "SELECT COUNT(*) FROM lk_service_request" 0
ok 'it ends' stop
printf 'store = mariadb://root@/test?%s&prefix=other_\nfailover = 2s\nadvertise = here:7420\n' \
    "$server" >"$work/conf"
ok 'a file can say all of it' start --config "$work/conf"
ok 'it leads as well, in tables of its own' leads
ok 'its address is the one that it advertises' \
    is 'SELECT address, lease_us FROM other_service_leader' 'here:7420|2000000'
ok 'it ends as well' stop
warns() { # PATTERN: the log and lk doctor say that commits may be lost
    grep -q "$1" "$work/log" && "$lk" -S "$address" doctor 2>&1 | grep -q 'may lose the last commits'
}
warns_of_nothing() {
    ! grep -q 'flushed' "$work/log" && ! "$lk" -S "$address" doctor 2>&1 | grep -q 'may lose'
}
ok 'tables of another user are DENIED' \
    refuses 77 '*DENIED*app@localhost*?owner=USER@HOST*' --store "$url"
url="$url&owner=app@localhost"
sql 'SET GLOBAL innodb_flush_log_at_trx_commit = 1'
ok 'a service on a server that flushes each commit' start --store "$url"
ok 'leads' leads
ok 'without a warning' warns_of_nothing
ok 'ends, too' stop
sql 'SET GLOBAL innodb_flush_log_at_trx_commit = 2'
ok 'a service on one that flushes now and then' start --store "$url"
ok 'leads' leads
ok 'and warns: a crash may lose what was acknowledged' warns 'commits are not flushed'
ok 'and ends' stop
other_formats "$url" lk_service_leader
meets_the_next_format "$url" lk_service_leader

# ---- tables that a DBA makes ----

sql "CREATE USER locks@localhost"
"$lk" -S "mysql://root@/test?$server&prefix=dba_" schema mysql-service >"$work/schema.sql"
ok 'a DBA makes the tables with lk schema' run_file "$work/schema.sql"
sed -n 's/^-- GRANT/GRANT/p' "$work/schema.sql" | sed 's/ON shop/ON test/; s/TO locks/TO locks@localhost/' \
    >"$work/grants.sql"
ok 'and grants what it names' run_file "$work/grants.sql"
ok 'a user without other rights is enough for a service' \
    start --store "mysql://locks@/test?$server&prefix=dba_"
ok 'that leads' leads
ok 'and writes: a lock' at_service acquire a/b --owner ann --ttl 60s
ok 'a value' at_service put a/c x
ok 'an item' at_service push mails 1
ok 'and what an administrator breaks' at_service break a/b --reason test
ok 'ends as well as any' stop
sql "CREATE USER mallory@localhost; GRANT ALL ON test.* TO mallory@localhost; GRANT TRIGGER ON test.* TO locks@localhost"
refuses_strangers "mysql://locks@/test?$server&prefix=dba_" \
    'CREATE DEFINER = mallory@localhost TRIGGER t BEFORE INSERT ON dba_service_value FOR EACH ROW SET @t = 1' \
    'DROP TRIGGER t'
finish
