#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lk serve: where it listens and what it says, what it refuses, its file, its end; and its log: which lines
# there are at each level, what they look like, what is never there.
. "${0%/*}/harness.sh"

scenario 'a port of the system'\''s choice, and its end'
serve --listen 127.0.0.1:0 --http none --ephemeral
grep -qE '^lk://127\.0\.0\.1:[0-9]+$' "$work/served" || complain "said $(cat "$work/served")"
LK_STORE=$(cat "$work/served")
lk acquire a --owner ana
expect_number
lk show a --json
expect .owner '"ana"'
stop TERM
expect_code 0
lk ls
failure 69 'lk: UNAVAILABLE: *'

scenario 'a socket that is its owner'\''s alone, and no port'
serve --unix "$work/s" --ephemeral
[ "$(cat "$work/served")" = "lk+unix:$work/s" ] || complain "said $(cat "$work/served")"
[ "$(stat -c %a "$work/s")" = 600 ] || complain 'the rights of the socket'
lk -S "lk+unix:$work/s" acquire a
expect_code 0
stop

scenario 'a port and a socket at once'
serve --unix "$work/s" --listen 127.0.0.1:0 --http none --ephemeral
lk -S "lk+unix:$work/s" acquire a --owner ana
lk -S "$(grep '^lk://' "$work/served")" show a --json
expect .owner '"ana"'
stop

scenario 'what is larger than one answer is read in pages'
serve --unix "$work/s" --http none --ephemeral
LK_STORE=lk+unix:$work/s
for n in $(seq 1200); do
    echo "ACQUIRE long OWNER o$n QUEUE NOTE $(printf %0200d 0)"
done | redis-cli -s "$work/s" >/dev/null
lk show long --json
[ "$(wc -l <"$work/out")" = 1200 ] || complain "show printed $(wc -l <"$work/out") of 1200"
redis-cli -s "$work/s" BREAK long REASON "$(printf %01000d 0)" NOW >/dev/null
lk audit --json
[ "$(wc -l <"$work/out")" = 1200 ] || complain "audit printed $(wc -l <"$work/out") of 1200"
stop

scenario 'HTTP at a socket'
serve --unix "$work/s" --http "unix:$work/h" --ephemeral
[ "$(stat -c %a "$work/h")" = 600 ] || complain 'the rights of the socket'
[ "$(curl -s --unix-socket "$work/h" http://localhost/healthz)" = ok ] || complain 'no answer'
stop

scenario 'a directory that is named is made, and none above it'
"$LK_PROGRAM" serve --unix "$work/s" --http none --dir "$work/nosuch/d" >"$work/out" 2>"$work/err"
code=$?
failure 64 "lk: INVALID: the directory above --dir does not exist; make it first*: $work/nosuch/d"
[ ! -e "$work/nosuch" ] || complain 'it was made'

scenario 'a new store is told, once'
serve --unix "$work/s" --http none --dir "$work/new"
grep -q "^lk serve: store: a new, empty store was made in $work/new" "$work/served.err" || complain 'new'
restart
! grep -q 'empty store' "$work/served.err" || complain 'it is not new any more'
stop

scenario 'what is answered survives its death'
serve --unix "$work/s" --http none --dir "$work/d"
LK_STORE=lk+unix:$work/s
lk acquire a/b --owner ana --ttl 10m --note why --json
token=$(field .token)
lk put config on
lk push q 1 v
lk push q 2
lk claim q --owner ben
restart
lk show a/b --json
expect '[.owner, .token, .note]' "[\"ana\",$token,\"why\"]"
lk get config
expect_out on
lk items q --json
expect '[.id, .state, .owner]' '["1","claimed","ben"]
["2","ready",null]'
lk 'done' q 1 --owner ben
expect_code 0
lk release a/b --owner ana --token "$token"
expect_code 0
stop

scenario 'tokens rise past those that a restored copy knows nothing of'
LK_STORE=lk+unix:$work/s
turn() { # PART...: takes them and gives them back; what it drew is greater than all before
    lk acquire "$@" --owner ana
    expect_code 0
    token=$(cat "$work/out")
    [ "$token" -gt "$greatest" ] || complain "$token was drawn after $greatest"
    greatest=$token
    lk release "$@" --owner ana
}
greatest=0
serve --unix "$work/s" --http none --dir "$work/restored"
turn a
turn b a
stop
cp -R "$work/restored" "$work/copy"
restart
turn a
turn b
turn a b c
stop
rm -rf "$work/restored"
mv "$work/copy" "$work/restored"
restart
turn c
turn b
turn a b c
turn a
stop

scenario 'a wait outlasts a service that forgets'
serve --unix "$work/s" --http none --ephemeral
LK_STORE=lk+unix:$work/s
lk acquire x --owner ana
"$LK_PROGRAM" run --wait 50s x -- echo ran >"$work/ran" 2>"$work/said" &
waiter=$!
until_true sh -c '"$LK_PROGRAM" ls x --json | grep -q waiting'
restart
wait "$waiter" || complain "ended with $?: $(cat "$work/said")"
[ "$(cat "$work/ran")" = ran ] || complain 'the command did not run'
grep -q 'asked for again' "$work/said" || complain "said $(cat "$work/said")"
stop

scenario 'other programs can read its file but not change it'
serve --unix "$work/s" --http none --dir "$work/d2"
lk -S "lk+unix:$work/s" acquire a --owner ana
lk -S "sqlite:$work/d2/locks.db" ls --json
expect .owner '"ana"'
lk -S "sqlite:$work/d2/locks.db" acquire b
[ "$code" -ne 0 ] || complain 'it was changed beside the service'
"$LK_PROGRAM" serve --unix "$work/s2" --http none --dir "$work/d2" >"$work/out" 2>"$work/err"
code=$?
[ "$code" -ne 0 ] || complain 'two services keep one file'
stop
lk -S "sqlite:$work/d2/locks.db" ls --json
expect .owner '"ana"'

scenario 'its file is copied while it runs'
serve --unix "$work/s" --http none --dir "$work/d4"
LK_STORE=lk+unix:$work/s
lk acquire a --owner ana
lk -S "sqlite:$work/d4/locks.db" backup "$work/copy.db"
expect_code 0
lk backup "$work/other.db"
expect_code 0
stop
for copy in copy other; do
    lk -S "sqlite:$work/$copy.db" ls --json
    expect .owner '"ana"'
done

scenario 'others are let in only if that is meant'
lk serve --listen 0.0.0.0:0 --http none --ephemeral
failure 77 'lk: DENIED: *--password-file FILE*--tls-cert FILE*--insecure *'
lk serve --http 0.0.0.0:0 --listen none --ephemeral --json
expect_code 77
expect_err ''
serve --listen 0.0.0.0:0 --http none --ephemeral --insecure
grep -q 'WARNING' "$work/served.err" || complain 'nothing was said of the danger'
stop

scenario 'a URL that leads to its HTTP port, or has a password that it does not want'
served_lines=2
serve --listen 127.0.0.1:0 --http 127.0.0.1:0 --ephemeral
served_lines=''
port=$(sed -n 's,^lk://.*:,,p' "$work/served")
lk -S "lk://$(sed -n 's,^http://,,p' "$work/served")" ls
failure 79 'lk: UNSUPPORTED: 127.0.0.1:*: this is HTTP: name the port of *--listen*7420*'
lk -S "lk://a:b@127.0.0.1:$port" ls
failure 77 'lk: DENIED: the service has no password: leave USER:PASSWORD@ out of the URL*'
stop

scenario 'a password'
echo secret >"$work/password"
serve --listen 0.0.0.0:0 --http none --ephemeral --password-file "$work/password" --insecure
port=$(sed 's/.*://' "$work/served")
lk -S "lk://127.0.0.1:$port" ls
failure 77 'lk: DENIED: the service wants a password: lk://HOST:PORT?password-file=FILE*'
lk -S "lk://:other@127.0.0.1:$port" ls
failure 77 'lk: DENIED: the service refuses the password of the URL*'
lk -S "lk://127.0.0.1:$port?password-file=$work/password" acquire a
expect_code 0
lk -S "lk://:secret@127.0.0.1:$port" ls
expect_code 0
! tr '\0' ' ' <"/proc/$served/cmdline" | grep -q secret || complain 'the password is in the title'
stop

scenario 'a file that may not grow any more ends nothing but what had to be written'
serve --unix "$work/s" --http none --dir "$work/d3"
LK_STORE=lk+unix:$work/s
head -c 60000 /dev/zero | tr '\0' v >"$work/value"
lk put kept "$(cat "$work/value")"
expect_code 0
prlimit --pid "$served" --fsize=300000:unlimited
code=0 number=0
while [ "$code" -eq 0 ] && [ "$number" -lt 10 ]; do
    number=$((number + 1))
    lk put "more/$number" "$(cat "$work/value")"
done
failure 69 'lk: UNAVAILABLE: *'
prlimit --pid "$served" --fsize=unlimited
until lk put after 1 && [ "$code" -eq 0 ]; do sleep 0.1; done
lk get kept
expect_out "$(cat "$work/value")"
stop TERM
expect_code 0

scenario 'bounds'
serve --unix "$work/s" --http none --ephemeral --bound live=2
LK_STORE=lk+unix:$work/s
lk acquire a
lk acquire b
lk acquire c
failure 73 'lk: FULL: *'
stop

scenario 'errors are reported'
for wrong in '--listen nonsense' '--listen 127.0.0.1:0 --bound live' '--listen none --http none' \
    '--bound colour=3' '--dir /tmp --ephemeral' 'a'; do
    # shellcheck disable=SC2086 # words are parted at blanks
    lk serve $wrong
    failure 64 'lk: INVALID: *'
done
lk -S mem: serve
failure 64 'lk: INVALID: --store: *postgresql://*'

# ---- the log ----

echo 'open sesame' >"$work/password"
chmod 600 "$work/password"
port=''
serve_here() { # OPTION...: with a password, on ports of its own
    serve --listen 127.0.0.1:0 --http "unix:$work/h" --ephemeral --password-file "$work/password" "$@"
    port=$(sed -n 's,^lk://127.0.0.1:,,p' "$work/served")
}

# A client that guesses, one that is a browser on the wrong port, and one that is let in.
refuse_some() {
    redis-cli -p "$port" AUTH wrong >/dev/null 2>&1
    curl -s -m 5 "http://127.0.0.1:$port/" >/dev/null
    curl -s --unix-socket "$work/h" -H 'Authorization: Bearer guessed' http://localhost/v1/limits \
        >/dev/null
    redis-cli -p "$port" -a 'open sesame' --no-auth-warning PUT kept 'a secret value' >/dev/null
}

entries() { # FILTER COUNT: so many objects of the log pass the filter of jq
    found=$(jq -c "select($1)" "$work/served.err" | wc -l)
    [ "$found" -eq "$2" ] || complain "$1: $found lines, not $2 in $(cat "$work/served.err")"
}

silent_about() { # TEXT...
    for text in "$@"; do
        ! grep -q "$text" "$work/served.err" || complain "it wrote $text"
    done
}

scenario 'nothing is logged of a service that only works'
serve --unix "$work/s" --http none --ephemeral
lk -S "lk+unix:$work/s" acquire a --owner ana
stop TERM
[ ! -s "$work/served.err" ] || complain "said $(cat "$work/served.err")"

scenario 'a line for each connection that is refused, with the reason and the peer'
serve_here
refuse_some
stop TERM
grep -qE "^lk serve: wrong password: .* \(reason=password listener=resp peer=127.0.0.1:[0-9]+\)$" \
    "$work/served.err" || complain "said $(cat "$work/served.err")"
grep -qE 'reason=password listener=http peer=unix:' "$work/served.err" || complain 'none of HTTP'
grep -qE 'reason=protocol listener=resp peer=127' "$work/served.err" || complain 'none of POST'
silent_about wrong$ guessed sesame 'a secret'

scenario 'the same as JSON, at the level of debugging'
serve_here --log-format json --log-level debug
refuse_some
kill -HUP "$served"
until_true grep -q '"reload"' "$work/served.err"
stop TERM
entries '.level == "warning" and .reason == "password" and .listener == "resp"' 1
entries '.level == "warning" and .reason == "password" and .listener == "http"' 1
entries '.level == "warning" and .reason == "protocol"' 1
entries '.kind == "ready" and .level == "info" and .resp == "127.0.0.1:'"$port"'"' 1
entries '.kind == "reload"' 1
entries '.kind == "stopping"' 1
entries '.kind == "connection" and .message == "opened" and .listener == "resp"' 3
entries '.kind == "connection" and .message == "closed"' 4
entries '.time | test("^20[0-9-]+T[0-9:]+[.][0-9]{3}Z$") | not' 0
silent_about guessed sesame 'a secret'

scenario 'errors alone'
serve_here --log-level error
refuse_some
chmod 000 "$work/password"
mv "$work/password" "$work/gone"
kill -HUP "$served"
until_true grep -q 'the former password stays' "$work/served.err"
stop TERM
[ "$(wc -l <"$work/served.err")" = 1 ] || complain "said $(cat "$work/served.err")"

slow_show_logged() {
    redis-cli -s "$work/s" SHOW crowd >/dev/null
    jq -e 'select(.kind == "slow call" and .command == "SHOW" and .path == "crowd"
                  and .level == "warning" and .took_ms >= 1)' "$work/served.err" >/dev/null
}

scenario 'what takes long'
mkdir "$work/d"
serve --unix "$work/s" --http none --dir "$work/d" --log-format json --slow-log 1ms
for n in $(seq 20000); do
    printf 'ACQUIRE crowd/%d OWNER o%d QUEUE NOTE secret\r\n' "$n" "$n"
done | redis-cli -s "$work/s" --pipe >/dev/null # in few, large transactions
until_true slow_show_logged # a second has a bounded number of such lines: ACQUIREs may have had them
stop TERM
[ "$(jq -c 'select(.kind == "slow commit")' "$work/served.err" | wc -l)" -gt 0 ] \
    || complain "no commit: $(cat "$work/served.err")"
silent_about secret

scenario 'a level that there is not'
lk serve --log-level loud --ephemeral
failure 64 'lk: INVALID: --log-level: "loud" is not error or warning or info or debug*'

finish
