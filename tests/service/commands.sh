#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every command of `lk help`, on a service and on an embedded store: the same words, the same codes.
# What differs by nature (tokens, tickets, times) is masked. A command that is new in `lk help` and
# not walked through here is a failure.
. "${0%/*}/harness.sh"

walked=''

# Draws and moments are long numbers; what is left of a ttl is shown in milliseconds, or in words.
mask() {
    sed -E -e 's/[0-9]{12,}/DRAW/g' -e 's/"(at_ms|expires_in_ms|age_ms|due_in_ms)":[0-9]+/"\1":N/g' \
        -e 's/"sequence":[0-9]+/"sequence":N/g' -e 's/([0-9.]+(ms|s|m|h))+( |$|,)/TIME\3/g' \
        -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]+/MOMENT/g' -e 's/:[0-9]+\.[0-9]+"/:PROCESS"/g' \
        -e 's/ +/ /g'
}

# One call, written down: its words, its code, what it said.
step() {
    walked="$walked $1"
    printf '$ lk' && printf ' %s' "$@" && printf '\n'
    timeout 60 "$LK_PROGRAM" "$@" >"$work/said" 2>"$work/complained" <"$stdin"
    echo "code $?"
    stdin=/dev/null
    mask <"$work/said"
    mask <"$work/complained" | sed 's/^/! /'
}

# Two lines of events, whichever store they come from: it follows until both were printed.
followed() {
    walked="$walked watch"
    : >"$work/followed" # here: the shell in the background is late to empty it
    "$LK_PROGRAM" watch w --json >"$work/followed" &
    follower=$!
    until_true sh -c "\"$LK_PROGRAM\" put w/begun x; [ -s '$work/followed' ]"
    "$LK_PROGRAM" acquire w/a --owner ana >"$work/out"
    "$LK_PROGRAM" release w/a --owner ana >"$work/out"
    until_true grep -q released "$work/followed"
    kill -TERM "$follower"
    wait "$follower"
    echo "code $?"
    grep -v w/begun "$work/followed" | mask
}

looked_at() {
    walked="$walked top"
    lk top
    echo "code $code"
    sed 's/^/! /' "$work/err"
}

walk() {
    step acquire db/t1 db/t2?shared --owner ana --ttl 10m --note 'a note' --json
    step acquire db/t1 --owner ben --try --json
    step acquire db/t1 --owner ben --queue --json
    step acquire db/t1 --owner cem --wait 50ms
    step hold db/t1 --owner dora --try
    step acquire pool?limit=3 --owner ana --units 2
    step acquire pool --limit 3 --units 2 --owner ben -n
    step acquire 'no//path'
    step hold h --owner ana --ttl $((30 * stretch))s --for-pid "$$" --json
    step hold h --owner ben -n
    step release h --owner ana --json
    step acquire y --owner ben --ttl 10m
    step hold y --wait 50ms
    step acquire y --owner ana --queue
    step acquire pool --limit 1 --owner ben --queue --json
    step renew db/t1 db/t2 --owner ana --ttl 20m --json
    step renew db/t1 --owner other
    step ls --json
    step ls
    step ls pool
    step show db/t1 --json
    step show db/t1
    step put db/value 'a value' --json
    step get db/value
    step get db/value --json
    step get db/none
    step get db/none --json
    printf 'from\0stdin' >"$work/bytes"
    stdin=$work/bytes
    step put db/bytes -
    step get db/bytes --json
    step put db/t1 x --owner ben
    step put db/t1 x --owner ana --token 7
    step del db/value
    step del db/value --json
    step release db/t1 db/t2 --owner ana --put 'with the release' --json
    step get db/t1 --json
    step acquire db/t1 --owner ben --value --json
    step release db/t1 db/t2 --owner ana
    step break pool --reason 'it hangs' --now --json
    step break pool --reason 'again'
    step break nowhere
    step audit --json
    step audit pool
    step push q one 'a value' --json
    step push q one
    step push q one 'a value' --again --json
    step push q one 'a value' --replace
    step push q two --delay 1h --needs db/needed
    step push q three
    step claim q --owner ana --json
    step claim q --owner ben
    step claim q --owner cem
    step claim q --owner cem --json --wait 20ms
    step items q --json
    step items q
    step 'done' q one --owner ana --json
    step 'done' q one --owner ana
    step retry q three --owner ben --delay 0
    step claim q --owner ben --max-attempts 1
    step claim q --owner ben --max-attempts 2
    step retry q three --owner ben --delay 0
    step claim q --owner ben --max-attempts 2
    step items q --json
    step unpark q three --json
    step unpark q three
    step unpark q --all three
    step retry q three --owner ben --park --reason 'no such address'
    step drop q
    step drop q three --parked
    step cancel q two
    step cancel q two --reason 'not needed'
    step cancel q two --reason 'not needed' --json
    step claim q --owner ben
    step cancel q three --reason 'hangs' --json
    step cancel q three --reason 'hangs' --now
    step push q four 'a value' --keep 1m
    step result q four
    step claim q --owner ben
    step progress q four 'half of it' --owner ben
    step progress q four 'half of it' --owner ben --json
    step progress q four 'half of it' --owner cem
    step result q four
    step 'done' q four --owner ben --result 'the result' --keep 1s
    step result q four
    step result q four --json --wait 1s
    step push q four --wait 1s
    step items q
    step drop q four
    step result q four
    step push q four --wait 1s --keep 1s
    step audit q
    step values
    step values db --json
    step queues q r
    step stats q --json
    step stats q
    step push drained one
    step push drained two
    step work drained --drain -- sh -c 'echo "$LK_ITEM_ID on $0"' '{id}'
    step push reported one
    step work reported --drain -- sh -c '"$LK_PROGRAM" report progress --note half; "$LK_PROGRAM" report "done"; exit 1'
    step report 'done' one # outside of a CMD
    step work --table jobs --drain -- true
    step run r --ttl $((5 * stretch))s -- sh -c 'echo "$LK_PATH $LK_TTL_MS"; exit 3'
    step run r --max-time 100ms -- sleep 60
    step run r -- /nowhere
    step run r --inherit -- true
    step acquire r --owner ana
    step run r --try -- true
    step limits
    step limits live=100 events=10 --json
    step limits live=0 events=0
    step limits colours=1
    followed
    looked_at
    step bench --clients 1 --seconds 0.2 --json
    step help ls
    step doctor
    step backup '' # elsewhere: tests/operations, and serve.sh
    step schema
    step passwd users ana --allow nothing:db # elsewhere: users.sh
    step serve --listen none --http none
    step version
}

# What the store is called, and what it says of itself, may differ; and how fast it is.
differ_by_nature() {
    sed -E -e '/^\$ lk (doctor|bench)/,/^\$ lk /{/^(\$|code )/!d}'
}

scenario 'every command says on a service what it says on a file'
walk >"$work/embedded"
serve --unix "$work/s" --http none --dir "$work/d"
LK_STORE=lk+unix:$work/s
walk >"$work/served.walk"
stop
differ_by_nature <"$work/embedded" >"$work/a"
differ_by_nature <"$work/served.walk" >"$work/b"
# R17: a table of the owner's is in a database of the owner's.
sed -i -e '/^\$ lk work --table/,/^\$ lk run/{/^[^$]/d}' "$work/a" "$work/b"
diff -u "$work/a" "$work/b" >"$work/differences" || complain "$(head -60 "$work/differences")"
sed -n '/^\$ lk doctor/,/^\$ lk /p' "$work/served.walk" >"$work/doctor"
for line in 'store: lk+unix:' 'durability: full' 'bounds: none' 'events: kept while a watch runs' \
    'round trip: ' 'clock offset: '; do
    grep -q "^$line" "$work/doctor" || complain "doctor: $(cat "$work/doctor")"
done
grep -qE '^a service of version [0-9.]+, which has run for ' "$work/doctor" || complain 'no sentence'
grep -qE '^requests: [0-9]+ held, [0-9]+ waiting' "$work/doctor" || complain 'no sentence of requests'
! grep -q '^refused_full: ' "$work/doctor" || complain 'figures without -v'
grep -A3 '^\$ lk work --table' "$work/served.walk" | grep -q 'UNSUPPORTED' ||
    complain 'a table of a service'

scenario 'no command was left out'
"$LK_PROGRAM" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' >"$work/commands"
[ "$(wc -l <"$work/commands")" -gt 25 ] || complain 'lk help is not understood'
while read -r each; do
    case " $walked " in
    *" $each "*) ;;
    *) complain "lk $each is not walked through" ;;
    esac
done <"$work/commands"

finish
