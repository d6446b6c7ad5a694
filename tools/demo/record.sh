# SPDX-License-Identifier: Apache-2.0
# What the processes of the demonstration share: how they record their steps. $DEMO_DIR is the
# directory of their files, $DEMO_START_MS the time of the start.

# query SQL: on the record.
query() {
    printf '%s;\n' "$1" | sqlite3 -bail -cmd '.timeout 10000' -tabs "$DEMO_DIR/record.db"
}

# database SQL: on the test database.
database() {
    printf '%s;\n' "$1" | sqlite3 -bail -cmd '.timeout 10000' "$DEMO_DIR/mydatabase.db"
}

# record RUN PATH WHAT: a row in the record and, but for each step of the work, a line on stdout.
record() {
    now_ms=$(($(date +%s%3N) - DEMO_START_MS))
    query "INSERT INTO record (at_ms, run, path, what, pid, token)
           VALUES ($now_ms, '$1', '$2', '$3', $$, ${LK_TOKEN:-NULL})"
    [ "$3" = works ] ||
        printf '%3d.%02d s  %-9s %s %s\n' $((now_ms / 1000)) $((now_ms % 1000 / 10)) "$1" "$3" "$2"
}
