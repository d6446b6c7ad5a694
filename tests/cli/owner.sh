#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Which commands have the same owner where none is named: those of one shell. Those of any other
# program exclude each other.
. "${0%/*}/harness.sh"

# A copy of this shell by another name: its program's file has that name.
shell=$(readlink -f "/proc/$$/exe")
name_shell() { # NAME
    mkdir -p "$work/bin"
    cp "$shell" "$work/bin/$1"
    copy=$work/bin/$1
}

cat >"$work/threads.py" <<'END'
import subprocess, sys, threading

codes = []

def acquire():
    codes.append(subprocess.run([sys.argv[1], "acquire", "--try", "job"], capture_output=True).returncode)

threads = [threading.Thread(target=acquire) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*sorted(codes))
END

scenario 'threads of a program exclude each other'
python3 -B "$work/threads.py" "$LK_PROGRAM" >"$work/out"
expect_out '0 75 75 75'

scenario 'so do the jobs of xargs and make'
printf '1\n2\n3\n' | xargs -P 3 -n 1 "$LK_PROGRAM" acquire --try work --note >"$work/out" 2>/dev/null
expect_number
printf 'all: a b c\na b c:\n\t%s acquire --try made\n' "$LK_PROGRAM" >"$work/Makefile"
make -s -i -j3 -f "$work/Makefile" >"$work/out" 2>/dev/null
expect_number

scenario 'their leases are released by the token, which a refusal says'
cat >"$work/release.py" <<'END'
import subprocess, sys

token = subprocess.run([sys.argv[1], "acquire", "job"], check=True, capture_output=True, text=True).stdout.strip()
alone = subprocess.run([sys.argv[1], "release", "job"], capture_output=True, text=True)
print(alone.returncode, "--token" in alone.stderr and "no shell" in alone.stderr)
print(subprocess.run([sys.argv[1], "renew", "job", "--token", token]).returncode)
print(subprocess.run([sys.argv[1], "release", "job", "--token", token]).returncode)
print(subprocess.run([sys.argv[1], "put", "job", "x", "--token", token], capture_output=True).returncode)
END
python3 -B "$work/release.py" "$LK_PROGRAM" >"$work/out"
expect_out '78 True
0
0
78'

scenario 'a program may name its owner'
python3 -B -c '
import subprocess, sys
for words in (["acquire", "job"], ["put", "job", "x"], ["release", "job"]):
    subprocess.run([sys.argv[1], *words, "--owner", "me"], check=True, capture_output=True)
' "$LK_PROGRAM" || complain 'with --owner all commands belong together'

scenario 'a claim and its end belong together in any program'
lk push q 1
python3 -B -c '
import subprocess, sys
for words in (["claim", "q"], ["done", "q", "1"]):
    subprocess.run([sys.argv[1], *words], check=True, capture_output=True)
' "$LK_PROGRAM" || complain 'claim and done'

scenario 'so do threads under a run, which is an owner of its own'
lk run svc -- python3 -B "$work/threads.py" "$LK_PROGRAM"
expect_code 0
expect_out '0 75 75 75'
lk run --owner me svc -- python3 -B "$work/threads.py" "$LK_PROGRAM"
expect_out '75 75 75 75'

scenario 'and scripts under a run, except for what the run holds'
cat >"$work/job" <<'END'
"$LK_PROGRAM" acquire -n gpu >/dev/null 2>&1; echo "$1 $?"
"$LK_PROGRAM" acquire -n db/t1 >/dev/null 2>&1; echo "$1 $?"
END
lk run db -- sh -c 'sh "$0" a; sh "$0" b; LK_OWNER=me sh "$0" c; LK_OWNER=me "$LK_PROGRAM" ls gpu' "$work/job"
expect_out 'a 0
a 0
b 75
b 0
c 75
c 75
'"$(tail -n +7 "$work/out")"
[ "$(grep -c '^gpu ' "$work/out")" -eq 1 ] || complain 'gpu is held once'

scenario 'what the run holds is its own: taking and releasing it inside leaves it held'
lk run db -- sh -c 'lk=$LK_PROGRAM
token=$("$lk" acquire db) && "$lk" release db --token "$token" && "$lk" release db?shared &&
sh -c "\"$lk\" hold db >/dev/null; :" && "$lk" ls db --json'
expect_code 0
expect '[.path, .state, .mode]' '["db","held","exclusive"]'
[ "$(grep -c 'db is held by the lk run around this' "$work/err")" -eq 2 ] || complain 'acquire and hold say so'
[ "$(grep -c '^lk: db.* stays held: ' "$work/err")" -eq 2 ] || complain 'each release says so'
lk run a b -- sh -c 'lk=$LK_PROGRAM; "$lk" release b a --json && "$lk" ls --json'
expect '[.status, .path, .state]' '["ok",null,null]
[null,"a","held"]
[null,"b","held"]'

scenario 'an acquire of what the run holds changes neither its mode nor its ttl'
lk run --ttl 1h 'db?limit=4&units=2' b -- sh -c 'lk=$LK_PROGRAM
"$lk" acquire b?shared db --limit 4 --ttl 1s --value --json && "$lk" ls --json'
expect '[.status, .mode, .limit, .units, .ttl_ms]' '["granted",null,null,null,3600000]
[null,"shared",4,2,3600000]
[null,"exclusive",null,null,3600000]'
lk run db?shared -- sh -c '"$LK_PROGRAM" acquire db --json; "$LK_PROGRAM" hold db --json; "$LK_PROGRAM" ls --json'
expect '[.status, .mode]' '["deadlock",null]
["deadlock",null]
[null,"shared"]'

scenario 'its owner by name, or the end of the run, ends it'
lk run db -- sh -c '"$LK_PROGRAM" release db --owner "$LK_OWNER"; echo $?'
expect_out 0
expect_code 78
lk run db -- sh -c 'env >"$0"' "$work/environment"
grep '^LK_[OPRT]' "$work/environment" | grep -v ' ' >"$work/words"
xargs -a "$work/words" sh -c 'env "$@" "$LK_PROGRAM" acquire db >"$0" && env "$@" "$LK_PROGRAM" release db' \
    "$work/token" || complain 'a new lease of an owner that is over'
lk ls
expect_out ''

scenario 'a lease below that of the run is shared by all of it, which is said'
lk run db -- sh -c '"$LK_PROGRAM" acquire db/t1 && "$LK_PROGRAM" acquire db/t1 && "$LK_PROGRAM" release db/t1'
expect_code 0
expect_err 'lk: db/t1 was held or asked for already in the lk run around this: *'

for name in sh bash dash zsh ksh mksh fish ash; do
    scenario "the commands of $name belong together"
    name_shell "$name"
    "$copy" -c '"$0" acquire job >/dev/null; "$0" release job; exit' "$LK_PROGRAM" ||
        complain "of $name"
done

scenario 'so do those of an applet of busybox that is a shell, and of no other'
name_shell busybox
"$copy" -c '"$0" acquire job >/dev/null; "$0" release job; exit' "$LK_PROGRAM" 2>/dev/null &&
    complain 'busybox -c names no applet'
(cd "$work/bin" && ln -sf busybox hush && ./hush -c '"$0" acquire other >/dev/null; "$0" release other; exit' \
    "$LK_PROGRAM") || complain 'hush of busybox'

scenario 'the name of the file counts, not the first argument'
name_shell worker
"$copy" -c '"$0" acquire job >/dev/null; "$0" release job; exit' "$LK_PROGRAM" 2>/dev/null &&
    complain 'worker is no shell'

finish
