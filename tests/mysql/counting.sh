# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What the scripts share that count the rows a call reads: harness.sh, a store, and these.
. "${0%/*}/harness.sh"

LK_STORE="mysql://root@/test?$server"
export LK_STORE
make_store
"$lk" ls >"$work/out" 2>"$work/err" # the first call there records which run of the server it is

fill() { # HELD FIRST LAST PATH...: at PATH1, PATH2, ... locks that are held, or requests that wait
    is_held=$1 first=$2 last=$3
    shift 3
    for path in "$@"; do
        sql "INSERT INTO lk_requests (part, path, unit_limit, units, root, owner, note, held, attended,
                 fixed, wants_value, ticket, token, ttl_ms, deadline_us, identity, roots, part_count)
             SELECT 1, CONCAT('$path', d.n), 0, 0, SUBSTRING_INDEX(CONCAT('$path', d.n), '/', 1),
                    CONCAT('other-', '$path', d.n), '', $is_held, FALSE, FALSE, FALSE, d.n,
                    IF($is_held, d.n, 0), 86400000,
                    UNIX_TIMESTAMP() * 1000000 + 86400000000,
                    UNHEX(SHA2(CONCAT('$path', d.n, '\n', 'other-', '$path', d.n), 256)),
                    SUBSTRING_INDEX(CONCAT('$path', d.n), '/', 1), 1
             FROM (SELECT a.n + 1000 * (b.n - 1) AS n
                   FROM lk_numbers AS a JOIN lk_numbers AS b ON b.n <= 10) AS d
             WHERE d.n BETWEEN $first AND $last;
             INSERT IGNORE INTO lk_roots (root, last_draw, due_us, has_waiting)
             VALUES (SUBSTRING_INDEX('$path', '/', 1), 0, UNIX_TIMESTAMP() * 1000000 + 80000000000,
                     FALSE)"
    done
}

# What sessions have asked of the tables, which both kinds of server count. A session that is just
# ending may be missing from the sum, so the sessions of earlier calls must have ended.
read_so_far() {
    until [ "$(sql "SHOW GLOBAL STATUS LIKE 'Threads_connected'" | cut -f 2)" = 1 ]; do
        sleep 0.02
    done
    sql "SHOW GLOBAL STATUS LIKE 'Handler_read%'" | awk '{ sum += $2 } END { print sum }'
}

# How many rows a call reads is added to the file $work/read-NAME.
counted() { # NAME CODE ARGUMENT...
    name=$1 code=$2
    shift 2
    before=$(read_so_far)
    "$lk" "$@" >"$work/out" 2>"$work/err"
    [ $? -eq "$code" ] || {
        echo "$name: not $code"
        cat "$work/out" "$work/err"
        return 1
    }
    echo $(($(read_so_far) - before)) >>"$work/read-$name"
}

# The same for what a statement reads.
counted_call() { # NAME CALL
    before=$(read_so_far)
    sql "$2" >"$work/out" || return 1
    echo $(($(read_so_far) - before)) >>"$work/read-$1"
}

quietly() {
    "$lk" "$@" >"$work/out" 2>"$work/err" || [ $? -eq 75 ]
}

# Whether a call reads as many rows beside many as beside few.
as_many() { # NAME
    # shellcheck disable=SC2046 # two numbers
    set -- $(cat "$work/read-$1")
    echo "$1 rows beside few, $2 beside many"
    [ $# -eq 2 ] && [ $(($2 - $1)) -le 100 ] && [ $(($1 - $2)) -le 100 ]
}
