# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# The files of a server.
#
# Prints a fresh directory for them: in memory if there is room, or, for one that is to
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

# Makes DIRECTORY by COMMAND, or copies what this made before under the same NAME, which takes a
# fifth of the time. LK_TEST_TEMPLATES is the directory of such copies; unset: none is kept.
#
#   made_once NAME DIRECTORY COMMAND...
made_once() {
    template=${LK_TEST_TEMPLATES:+$LK_TEST_TEMPLATES/$1}
    directory=$2
    shift 2
    if [ -n "$template" ] && [ -d "$template" ]; then
        cp -a "$template" "$directory"
        return
    fi
    "$@" || return
    [ -n "$template" ] || return 0
    # Several tests may be the first: the copy is there as a whole, and the first one's stays.
    if ! cp -a "$directory" "$template.$$" || ! mv -T "$template.$$" "$template" 2>/dev/null; then
        rm -rf "$template.$$"
    fi
}
