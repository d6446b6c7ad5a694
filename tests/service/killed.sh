#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Twenty runs at one resource while the service is killed again and again: no two commands run at
# once, every run is granted, and tokens rise.
. "${0%/*}/harness.sh"

scenario 'twenty runs and a service that is killed under them'
serve --unix "$work/s" --http none --dir "$work/d"
LK_STORE=lk+unix:$work/s
# A run notes its name and its token, works for a moment, and notes its end: one write a line, and
# a directory that only one of them can make is the second check. The first one waits until all
# are in the queue, however long that takes.
cat >"$work/job" <<'JOB'
mkdir "$1/inside" || echo "overlap $2" >>"$1/log"
echo "begins $2 $LK_TOKEN" >>"$1/log"
while [ ! -e "$1/all" ]; do sleep 0.02; done
sleep 0.2
echo "ends $2 $LK_TOKEN" >>"$1/log"
rmdir "$1/inside"
JOB
runs=''
: >"$work/log"
for number in $(seq 20); do
    "$LK_PROGRAM" run farm/db --ttl 20s -- sh "$work/job" "$work" "$number" 2>>"$work/farm.err" &
    runs="$runs $!"
done
# A run started while the service is down fails; a run that has begun survives the kills.
arrived() {
    [ "$("$LK_PROGRAM" ls farm --json | wc -l)" -ge 20 ]
}
until_true arrived
: >"$work/all"
kills=0
while [ "$kills" -lt 8 ] && [ "$(grep -c ends "$work/log")" -lt 18 ]; do
    before=$(grep -c ends "$work/log")
    restart
    kills=$((kills + 1))
    further() { [ "$(grep -c ends "$work/log")" -gt "${before:-0}" ]; }
    until_true further
done
failed=0
for run in $runs; do
    wait "$run" || failed=$((failed + 1))
done
[ "$failed" -eq 0 ] || complain "$failed runs have failed: $(sort "$work/farm.err" | uniq -c)"
[ "$kills" -ge 3 ] || complain "it was killed $kills times only"
[ "$(grep -c ends "$work/log")" -eq 20 ] || complain "not all have run: $(cat "$work/log")"
grep overlap "$work/log" && complain 'two were inside at once'
# The two lines of each run are adjacent, and tokens rise.
awk '$1 == "begins" { if (open != "" || $3 + 0 <= token + 0) wrong = 1; open = $2; token = $3 }
     $1 == "ends" { if ($2 != open) wrong = 1; open = "" }
     END { exit wrong }' "$work/log" || complain "the log: $(cat "$work/log")"
free() { [ -z "$("$LK_PROGRAM" ls)" ]; }
until_true free
stop

finish
