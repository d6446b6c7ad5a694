#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The log of lk serve: which lines there are at each level, what they look like, what is never there.
. "${0%/*}/harness.sh"

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
