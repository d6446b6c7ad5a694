# SPDX-License-Identifier: Apache-2.0
# Draws the lines of timeline.sql: a bar for each run, time from left to right.
BEGIN {
    FS = "\t"
    columns = 72
}

function column(at_ms) {
    return int(at_ms * columns / end_ms)
}

function fill(character, from_ms, to_ms, i) {
    for (i = column(from_ms); i <= column(to_ms) && i < columns; i++) {
        cell[i] = character
    }
}

function draw(name, i, line) {
    line = ""
    for (i = 0; i < columns; i++) {
        line = line (i in cell ? cell[i] : " ")
        delete cell[i]
    }
    sub(/ +$/, "", line)
    printf "%-10s|%s\n", name, line
}

NR == 1 {
    end_ms = $7 + 1
    for (second = 0; second * 1000 <= end_ms; second++) {
        cell[column(second * 1000)] = second % 10
    }
    draw("seconds")
}

{
    if ($3 == "") { # never began
        fill(".", $2, $4)
    } else {
        fill(".", $2, $3)
        fill("#", $3, $4)
    }
    if ($5 == "killed") {
        fill("~", $4, $6)
        cell[column($4)] = "X"
    }
    if ($5 == "failed") {
        cell[column($4)] = "?"
    }
    draw($1)
}

END {
    print "           . waiting   # running   X killed   ~ killed, its lease not yet expired"
}
