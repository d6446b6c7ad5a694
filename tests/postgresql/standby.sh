# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# A standby of the private server, streaming from it, in $work/standby. Read behind harness.sh.
#
#   start_standby    makes and starts it
#   stop_standby     stops it, if it was made
#   promote_standby  makes a primary of it
#   stop_primary     the private server is gone, as after a crash
#
# $standby is what `sql` and psql take for its database postgres.
. "${0%/*}/servers.sh"
standby="host=$work/standby dbname=postgres"
chmod 755 "$work"

start_standby() {
    mkdir "$work/standby"
    make_standby "$LK_TEST_SERVER" "$work/standby" >"$work/out" 2>&1
}

# shellcheck disable=SC2317 # called by traps
stop_standby() {
    [ ! -d "$work/standby/data" ] || on_server "$work/standby" -m immediate stop >/dev/null 2>&1
}

promote_standby() {
    on_server "$work/standby" -w -s promote >"$work/out" 2>&1
}

stop_primary() {
    on_server "$LK_TEST_SERVER" -m immediate -w -s stop >"$work/out" 2>&1
}
