#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: restores.sh --restart MS sqlite:FILE
#
# A backup of the store, MS milliseconds in which it is used, and the backup restored in place, as
# docs/operations.md has it.
set -eu
. "${0%/*}/../procedures/restarts.sh"
lost_ms=$2 file=${3#sqlite:}

by_hand() { # COMMAND
    sqlite3 -batch -bail -cmd '.timeout 60000' "$file" "$1" >&2
}

kept=$(before_us)
by_hand ".backup '$file.copy'"
taken=$(after_us)
pass "$lost_ms"
gone=$(before_us)
by_hand ".restore '$file.copy'"
restarted "$gone" "$(after_us)" "$kept" "$taken" unnoticed
