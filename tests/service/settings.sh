#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The settings of lk serve: the command line, then the environment, then the file of --config.
. "${0%/*}/harness.sh"

conf=$work/service.conf

# refused_as TEXT: `lk serve --config` of the file refuses it with that text.
refused_as() {
    lk serve --config "$conf"
    failure 64 "lk: INVALID: $1"
}

scenario 'a file says all of it'
echo secret >"$work/password"
cat >"$conf" <<EOF
# A service for a test.
unix = $work/s
listen = none
http=none
  dir   =   $work/d

bound = waiters-per-path=1
bound = live=100
password-file = $work/password
EOF
serve --config "$conf" --unix "$work/s"
LK_STORE="lk+unix:$work/s?password-file=$work/password"
lk acquire a --owner ana
expect_code 0
lk acquire a --owner bob --queue
lk acquire a --owner cid --queue
failure 73 'lk: FULL: *'
[ -f "$work/d/locks.db" ] || complain 'its file is elsewhere'
stop TERM
expect_code 0

scenario 'the command line comes first, then the environment, then the file'
printf 'dir = %s\nephemeral = no\nhttp = 127.0.0.1:1\nbound = live=1\n' "$work/file" >"$conf"
LK_SERVE_DIR=$work/environment
LK_SERVE_HTTP=none
LK_SERVE_CONFIG=$conf
export LK_SERVE_DIR LK_SERVE_HTTP LK_SERVE_CONFIG
serve --unix "$work/s"
[ -f "$work/environment/locks.db" ] || complain 'the environment did not come before the file'
stop TERM
serve --unix "$work/s" --dir "$work/line"
[ -f "$work/line/locks.db" ] || complain 'the command line did not come before the environment'
[ ! -e "$work/file" ] || complain 'the file came first'
stop TERM
rm -r "$work/line" "$work/environment"
serve --unix "$work/s" --ephemeral
[ ! -e "$work/environment" ] || complain '--ephemeral does not end the directory that was set elsewhere'
stop TERM
unset LK_SERVE_DIR
LK_SERVE_EPHEMERAL=no
export LK_SERVE_EPHEMERAL
printf 'ephemeral = yes\n' >"$conf"
serve --unix "$work/s" --dir "$work/line"
[ -f "$work/line/locks.db" ] || complain '"no" of a stronger source does not count'
stop TERM
unset LK_SERVE_HTTP LK_SERVE_EPHEMERAL LK_SERVE_CONFIG

scenario 'what may be repeated adds up, and the stronger source has the last word'
printf 'bound = live=1\nbound = waiters-per-path=1\n' >"$conf"
LK_SERVE_BOUND='live=2 value-bytes=5'
export LK_SERVE_BOUND
serve --config "$conf" --unix "$work/s" --ephemeral --bound live=3
LK_STORE=lk+unix:$work/s
for path in a b c; do
    lk acquire "$path" --owner "$path"
    expect_code 0
done
lk acquire d --owner d
failure 73 'lk: FULL: *'
lk put key 123456
failure 73 'lk: FULL: *'
stop TERM
unset LK_SERVE_BOUND

scenario 'what a file gets wrong is refused, with its line'
printf '\n# a comment\nephemral = yes\n' >"$conf"
refused_as "$conf:3: lk serve has no setting \"ephemral\"; did you mean ephemeral?"
echo 'store = sqlite:/srv/x' >"$conf"
refused_as "$conf:1: --store: *postgresql://*"
echo 'store = postgresql://ann:hidden@db/locks' >"$conf"
lk serve --config "$conf" --unix "$work/s" --dir "$work/elsewhere"
failure 64 "lk: INVALID: $conf:1: --dir or --ephemeral, * keep the locks elsewhere: remove that *"
LK_SERVE_EPHEMERAL=yes
export LK_SERVE_EPHEMERAL
lk serve --config "$conf" --unix "$work/s"
failure 64 "lk: INVALID: $conf:1: --dir or --ephemeral, *"
unset LK_SERVE_EPHEMERAL
echo "config = $conf" >"$conf"
refused_as "$conf:1: lk serve has no setting \"config\"*"
echo 'ephemeral' >"$conf"
refused_as "$conf:1: no \"=\"; *"
echo 'ephemeral = perhaps' >"$conf"
refused_as "$conf:1: yes or no"
echo 'password-file =' >"$conf"
refused_as "$conf:1: no value; write: password-file = FILE, or remove the line"
echo 'password-file = password' >"$conf"
refused_as "$conf:1: a path that is relative *"
echo 'http = unix:h' >"$conf"
refused_as "$conf:1: a path that is relative *"
echo 'tcp-keepalive = soon' >"$conf"
refused_as "$conf:1: *soon*"
echo 'tcp-keepalive = 9h' >"$conf"
refused_as "$conf:1: \"9h\" is longer than 8 h"
printf 'ephemeral = yes\nbound = lives=1\n' >"$conf"
refused_as "$conf:2: *lives*"
echo 'allow-host = http://x/' >"$conf"
refused_as "$conf:1: *NAME, or NAME:PORT"
printf 'ephemeral = yes\ndir = /srv/locks\n' >"$conf"
refused_as "$conf: dir and ephemeral contradict each other"
printf 'ephemeral = y\0es\n' >"$conf"
refused_as "$conf:1: a byte 0; this is no text"
head -c 70000 /dev/zero | tr '\0' '#' >"$conf"
refused_as '*longer than 65536 bytes*'
rm "$conf"
refused_as "--config $conf: No such file or directory"
lk serve --config "$work"
failure 64 'lk: INVALID: *directory'

scenario 'a mistake is found although a stronger source has the option'
echo 'tcp-keepalive = soon' >"$conf"
lk serve --config "$conf" --tcp-keepalive 10s --ephemeral
failure 64 "lk: INVALID: $conf:1: *"

scenario 'a variable that is no option is told of, one with a bad value is refused'
LK_SERVE_PASWORD_FILE=$work/password
export LK_SERVE_PASWORD_FILE
serve --unix "$work/s" --ephemeral
grep -q 'WARNING: LK_SERVE_PASWORD_FILE: lk serve has no such option' "$work/served.err" \
    || complain "said $(cat "$work/served.err")"
stop TERM
unset LK_SERVE_PASWORD_FILE
LK_SERVE_TCP_KEEPALIVE=soon
export LK_SERVE_TCP_KEEPALIVE
lk serve --ephemeral
failure 64 'lk: INVALID: LK_SERVE_TCP_KEEPALIVE: *soon*'
unset LK_SERVE_TCP_KEEPALIVE

# changed TEXT: the log has one more line with the text, which the last reload has written.
changed() {
    kill -HUP "$served"
    patience=0
    until tail -n +"$((seen + 1))" "$work/served.err" | grep -q -e "$1"; do
        [ $((patience += 1)) -lt 3000 ] || { complain "no \"$1\" in $(cat "$work/served.err")"; break; }
        sleep 0.01
    done
    seen=$(wc -l <"$work/served.err")
}

scenario 'SIGHUP reads the file again: what can change does, and what cannot is named'
printf 'log-level = info\nbound = waiters-per-path=1\n' >"$conf"
serve --config "$conf" --unix "$work/s" --http unix:"$work/h" --dir "$work/r"
LK_STORE=lk+unix:$work/s
seen=$(wc -l <"$work/served.err")
lk acquire a --owner ana --ttl 1h
lk acquire a --owner bob --queue --ttl 1h
lk acquire a --owner cid --queue --ttl 1h
failure 73 'lk: FULL: *'
printf 'log-level = debug\nbound = waiters-per-path=2\n' >"$conf"
changed 'the settings were read again'
lk acquire a --owner cid --queue --ttl 1h
expect_code 75
lk acquire a --owner dan --queue --ttl 1h
failure 73 'lk: FULL: *'
lk limits waiters-per-path=9
failure 77 'lk: DENIED: *'
grep -q 'connection: opened' "$work/served.err" || complain 'the level of the log did not change'
printf 'log-level = info\ndir = /srv/other\nlisten = 127.0.0.1:1\npassword-file = /srv/p\nbound = request-seconds=5\n' >"$conf"
changed 'only when the service is restarted: listen, password-file, bound request-seconds'
lk limits waiters-per-path=9
expect_code 0
lk acquire a --owner dan --queue --ttl 1h
expect_code 75
! grep -q 'former .* stays' "$work/served.err" || complain 'it read a password without having one'
printf 'log-level = info\nallow-host = locks.example\n' >"$conf"
[ "$(curl -s -o /dev/null -w '%{http_code}' --unix-socket "$work/h" http://localhost/readyz)" = 200 ] ||
    complain 'HTTP does not answer'
changed 'the settings were read again'
stop TERM

scenario 'SIGHUP: the file may name another file of passwords'
echo first >"$work/first"
echo second >"$work/second"
printf 'log-level = info\npassword-file = %s\n' "$work/first" >"$conf"
serve --config "$conf" --unix "$work/s" --ephemeral
seen=$(wc -l <"$work/served.err")
printf 'log-level = info\npassword-file = %s\n' "$work/second" >"$conf"
changed 'the password was read again'
lk -S "lk+unix:$work/s?password-file=$work/first" ls
expect_code 77
lk -S "lk+unix:$work/s?password-file=$work/second" ls
expect_code 0
printf 'log-level = info\npassword-file = %s\n' "$work/third" >"$conf"
changed "the former password stays: the password file $work/third: No such file"
lk -S "lk+unix:$work/s?password-file=$work/second" ls
expect_code 0

scenario 'a file with a mistake changes nothing, and the log says where'
stop TERM
printf 'log-level = info\n' >"$conf"
serve --config "$conf" --unix "$work/s" --ephemeral
LK_STORE=lk+unix:$work/s
seen=$(wc -l <"$work/served.err")
lk acquire a --owner ana --ttl 1h
printf 'log-level = info\nbound = waiters-per-path=1\nlogg-level = error\n' >"$conf"
changed "the former settings stay: $conf:3: lk serve has no setting"
lk acquire a --owner eve --queue --ttl 1h
expect_code 75
rm "$conf"
changed "the former settings stay: --config $conf: No such file"
printf 'unix = %s\nhttp = none\nlisten = none\nlog-level = debug\n' "$work/s" >"$conf"
changed 'only when the service is restarted'
lk ls --json
expect_code 0
stop TERM
expect_code 0

finish
