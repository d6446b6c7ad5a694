#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/recipes.md, played: each block is taken from the page and carried out, with programs of this
# test in the place of the user's.
. "${0%/*}/harness.sh"
page=$docs/recipes.md

recipe 'make: the inner make runs under the lease, and the reset under that of the whole tree'
block make make >"$here/Makefile"
program run-tests
program reset-database
play make -j2 run-tests
expect_code 0
ran 1 'run-tests  mydatabase/mytest token'
play make reset
expect_code 0
ran 2 'reset-database  mydatabase token'
[ ! -s "$work/err" ] || complain "make said: $(cat "$work/err")"

recipe 'a shell script that locks itself'
block 'A shell script that locks itself' sh >"$here/deploy"
chmod +x "$here/deploy"
play ./deploy
expect_code 0
grep -Eq '^deploys with token [0-9]+$' "$work/out" || complain 'it did not run under the lease'

recipe 'Docker: the entry point limits the containers, and the end of one is passed on'
block Docker dockerfile >"$here/Dockerfile"
program worker 'trap "echo stopped; exit 0" TERM' 'echo $$ >pid' 'while :; do sleep 0.05; done'
sed -n 's/^ENTRYPOINT //p; s/^CMD //p' "$here/Dockerfile" | jq -rs 'add | @sh' >"$here/argv"
command=$(cat "$here/argv")
(cd "$here" && eval "exec $command") >"$here/stopped" 2>&1 &
container=$!
until_true test -s "$here/pid"
lk ls --json
expect '[.path, .limit]' '["workers",3]'
kill "$container"
wait "$container"
code=$?
expect_code 0
grep -q stopped "$here/stopped" || complain 'the worker was not told'
ran 1 'worker  workers token'

recipe 'systemd: the unit is valid, and its command runs under the lease'
block systemd ini | sed "s|/usr/bin/lk|$LK_PROGRAM|" >"$here/reports.service"
play systemd-analyze --man=no verify "$here/reports.service"
expect_code 0
[ ! -s "$work/err" ] || complain "systemd: $(cat "$work/err")"
program make-reports
play env PATH="$here:$PATH" sh -c "$(sed -n 's/^ExecStart=//p' "$here/reports.service")"
expect_code 0
for code in 73 76 78; do # as the journal names them
    name=$(systemd-analyze exit-status "$code" | awk 'NR == 2 { print $1 }')
    grep -qF "$code/$name" "$docs/cli.md" || complain "cli.md does not tell $code/$name"
done
ran 1 'make-reports  service/reports token'

# A candidate named by its note: leads until "$here/NAME.go" is written to.
candidate() {
    mkdir "$here/$1"
    mkfifo "$here/$1/go"
    printf '#!/bin/sh\necho %s >>../leads\nread -r _ <go\n' "$1" >"$here/$1/lead"
    chmod +x "$here/$1/lead"
    block 'Leader election' sh | sed "s/\$(uname -n):8080/$1/" >"$here/$1/candidate"
    (cd "$here/$1" && exec sh -c "exec $(cat candidate)") >"$here/$1/out" 2>&1 </dev/null &
}
leads() { [ "$(tail -n 1 "$here/leads" 2>/dev/null)" = "$1" ]; }
waits() { lk ls service --json && jq -se "map(.note + .state) | index(\"$1waiting\")" "$work/out" >/dev/null; }

recipe 'leader election: observed, resigned, deposed and fenced'
lk limits events=1000
candidate ana
first=$!
until_true leads ana
candidate ben
until_true waits ben
candidate cem
last=$!
until_true waits cem
block 'Leader election' sh 3 | sed 's/watch/watch --after 1/' >"$here/follow"
setsid sh "$here/follow" >"$here/followed" & # a process group of its own
observer=$!
block 'Leader election' sh 2 >"$here/observe"
play sh -e "$here/observe"
expect_out ana
echo >"$here/ana/go"
wait "$first"
code=$?
expect_code 0
until_true leads ben
block 'Leader election' sh 4 >"$here/depose"
play sh -e "$here/depose"
expect_code 0
until_true leads cem
play sh -e "$here/observe"
expect_out cem
until_true grep -q cem "$here/followed"
[ "$(tr '\n' ' ' <"$here/followed")" = 'ana ben cem ' ] || complain "followed: $(cat "$here/followed")"
kill -- -"$observer"
block 'Leader election' sql >"$here/fence.sql"
play sqlite3 :memory: 'CREATE TABLE leadership(name, token, state)' \
    "INSERT INTO leadership VALUES ('service', 1, 'old')" \
    '.parameter init' '.parameter set :token 5' '.parameter set :state new' ".read $here/fence.sql" \
    '.parameter set :token 4' '.parameter set :state late' ".read $here/fence.sql" \
    'SELECT token, state FROM leadership'
expect_out '5|new'
echo >"$here/cem/go"
wait "$last"

recipe 'Python and Node.js hold a lock over HTTP'
serve --listen none --http 127.0.0.1:0 --ephemeral
http=$(cat "$work/served")
for language in python js; do
    [ "$language" = js ] && section=Node.js || section=Python
    block "$section" "$language" | sed "s|http://127.0.0.1:7421|$http|" >"$here/lock.$language"
done
mv "$here/lock.js" "$here/lock.mjs"
play python3 "$here/lock.python"
expect_code 0
grep -Eq '^token [0-9]+ lost False$' "$work/out" || complain 'no lease'
play node "$here/lock.mjs"
expect_code 0
grep -Eq '^token [0-9]+ lost false$' "$work/out" || complain 'no lease'
stop

recipe 'a cap on connections, from a shell and by a Redis client'
program call-backend
block 'A cap on connections' sh >"$here/cap"
play sh -e "$here/cap"
expect_code 0
ran 1 'call-backend  backend/api-7 token'
serve --listen 127.0.0.1:0 --http none --ephemeral
port=$(sed 's/.*://' "$work/served")
block 'A cap on connections' redis | redis-cli -p "$port" >"$work/out"
grep -q granted "$work/out" || complain 'no grant'
[ "$(tail -n 1 "$work/out")" = OK ] || complain 'no release'
stop
finish_page
