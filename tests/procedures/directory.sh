# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Prints a fresh directory for a server's files: in memory if there is room, or, for one that is to
# flush to the disk as a real one does, where temporary files are.
#
#   server_directory [--durable]
server_directory() {
    memory=/dev/shm
    room_kib=$(df -Pk "$memory" 2>/dev/null | awk 'NR == 2 { print $4 }')
    if [ "${1-}" = --durable ] || [ ! -w "$memory" ] || [ "${room_kib:-0}" -lt 1000000 ]; then
        memory=${TMPDIR:-/tmp}
    fi
    mktemp -d -p "$memory"
}
