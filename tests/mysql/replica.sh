# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Two servers of with_server.sh, one of which replicates the other, each named by its directory.
#
#   at DIRECTORY SQL [DATABASE]     as the server's administrator
#   speak DIRECTORY                 reads how its kind says the following, which it defines
#   position DIRECTORY              of its binary log: a file and a place in it
#   replicate REPLICA PORT POSITION the replica follows the server at the port, from there on
#   forget REPLICA                  it follows none any more

at() {
    mariadb --no-defaults -u root -S "$1/socket" -N -B -e "$2" "${3-test}"
}

speak() {
    case $(at "$1" 'SELECT VERSION()') in
    *MariaDB*)
        source=MASTER begin='START SLAVE' stop='STOP SLAVE' reset='RESET SLAVE ALL'
        change='CHANGE MASTER TO' status='SHOW MASTER STATUS' reached=MASTER_POS_WAIT
        ;;
    *)
        source=SOURCE begin='START REPLICA' stop='STOP REPLICA' reset='RESET REPLICA ALL'
        change='CHANGE REPLICATION SOURCE TO GET_SOURCE_PUBLIC_KEY = 1,' reached=SOURCE_POS_WAIT
        status='SHOW BINARY LOG STATUS'
        at "$1" "$status" >/dev/null 2>&1 || status='SHOW MASTER STATUS'
        ;;
    esac
}

position() {
    at "$1" "$status" | cut -f 1,2
}

replicate() {
    place=$3
    at "$1" "$change ${source}_HOST = '127.0.0.1', ${source}_PORT = $2, ${source}_USER = 'copy',
        ${source}_LOG_FILE = '${place%%	*}', ${source}_LOG_POS = ${place##*	},
        ${source}_CONNECT_RETRY = 1; $begin"
}

forget() {
    at "$1" "$stop; $reset"
}
