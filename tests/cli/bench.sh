#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lk bench: what it prints, for people and for programs, and that it leaves nothing behind.
. "${0%/*}/harness.sh"

times='count p50 p90 p99 max'

for pattern in many one shared limit; do
    scenario "bench --pattern $pattern"
    lk bench --pattern "$pattern" --clients 3 --seconds 200ms --json
    expect_code 0
    expect_err ''
    expect '[.status, .pattern, .clients]' "[\"ok\",\"$pattern\",3]"
    expect '.pairs > 0 and .pairs == .acquire_us.count and .pairs == .release_us.count' true
    expect '.pairs_per_s - .pairs / .seconds | fabs < 0.001' true
    grep -q '"seconds":0.2,' "$work/out" || complain 'a number as it was typed'
    expect '.acquire_us | keys_unsorted | join(" ")' "\"$times\""
    expect '.acquire_us | .p50 <= .p90 and .p90 <= .p99 and .p99 <= .max' true
    lk ls
    expect_out ''
done

scenario 'bench: with turns each client hands the lease on'
lk bench --pattern one --clients 3 --seconds 300ms --json
expect '.handoff_us.count > 0 and .handoff_us.count <= .pairs' true

scenario 'bench for people'
lk bench --seconds 100ms
expect_code 0
head -1 "$work/out" | grep -q '^many: 1 client, 0.1 s$' || complain 'the first line'
grep -qE '^[0-9]+ pairs/s$' "$work/out" || complain 'pairs a second'
grep -qE '^acquire_us +p50 [0-9]+ +p90 [0-9]+ +p99 [0-9]+ +max [0-9]+$' "$work/out" ||
    complain 'the latencies'

scenario 'bench says what it cannot do'
lk bench --pattern nonsense
failure 64 'lk: INVALID: *'
lk bench --clients 0
failure 64 'lk: INVALID: *'
lk -S lk://127.0.0.1:1 bench
failure 69 'lk: UNAVAILABLE: *'

finish
