#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is refused, with which exit code, and in which form it is said.
. "${0%/*}/harness.sh"

control=$(printf 'a\tb')
latin1=$(printf 'a\351b')
long=$(printf '%0256d' 0)
deep=1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21/22/23/24/25/26/27/28/29/30/31/32/33

scenario 'bad parts are INVALID, with the rule and the place'
for part in '' / // 'a//b' a/. a/.. . .. 'a b' 'a{b' 'a}b' "$control" "$latin1" "$long" "$deep" \
    'a?' 'a?nonsense' 'a?shared?shared' 'a?limit' 'a?limit=' 'a?limit=0' 'a?limit=-1' \
    'a?limit=1.5' 'a?limit=2147483648' 'a?limit=x' 'a?units=2' 'a?limit=2&units=3' \
    'a?limit=2&units=0' 'a?limit=2&limit=3' 'a?limit=2&' 'a?shared=1' '?shared'; do
    for command in acquire renew release; do
        lk "$command" "$part"
        failure 64 'lk: INVALID: part 1, "*": *(R[12])'
    done
    lk acquire --json good "$part"
    expect_code 64
    expect_err ''
    expect_keys 'status error'
    expect '.status' '"invalid"'
    expect '.error | startswith("part 2, ")' true
    lk run "$part" -- touch "$work/ran"
    expect_code 64
done
[ ! -e "$work/ran" ] || complain 'a command was run'

scenario 'the number of a rule comes last in a sentence within a sentence too'
lk acquire a//b
failure 64 'lk: INVALID: part 1, "a//b": a segment has at least one byte, at byte 3 of the path (R1)'
lk push mails 1 --needs a//b
failure 64 'lk: INVALID: a segment has at least one byte, at byte 3 of the path (R1)'
lk acquire a//b --json
expect .error '"part 1, \"a//b\": R1: a segment has at least one byte, at byte 3 of the path"'

scenario 'bad paths and prefixes are INVALID everywhere'
for path in '' 'a//b' 'a b' a/.. 'a?shared' "$control" "$long"; do
    lk show "$path"
    failure 64 'lk: INVALID: *R1*'
    lk break "$path" --reason why
    failure 64 'lk: INVALID: *R1*'
    if [ -n "$path" ]; then
        lk ls "$path"
        failure 64 'lk: INVALID: *R1*'
        lk audit "$path" --json
        expect_code 64
        expect '.status' '"invalid"'
    fi
done

scenario 'the greatest path that there may be'
segment=$(printf '%0255d' 0)
lk acquire "$segment" --owner a
expect_code 0
lk acquire "$segment/$segment" --owner a
expect_code 0
lk acquire "$segment/$segment/x" --owner a
expect_code 64
lk acquire "${deep%/33}" --owner a
expect_code 0

scenario 'the same path twice'
lk acquire db 'db?shared'
failure 64 'lk: INVALID: *db*(R2)'
lk acquire db /db/ --json
expect_code 64

scenario 'bad units and limits by option'
lk acquire db --units 2
failure 64 'lk: INVALID: *units need a limit*'
lk acquire db --limit 2 --units 3
failure 64 'lk: INVALID: *'
lk acquire 'db?units=2' --limit 5
expect_code 64

scenario 'owners and notes have their bounds'
lk acquire db --owner ''
failure 64 'lk: INVALID: *'
lk acquire db --owner "$(printf '%0129d' 0)"
failure 64 'lk: INVALID: *128*'
lk acquire db --owner "$(printf '%0128d' 0)"
expect_code 0
lk acquire x --note "$(printf '%0256d' 0)"
failure 64 'lk: INVALID: *255*'
lk acquire x --note "$(printf '%0255d' 0)"
expect_code 0
lk break db --reason "$(printf '%01025d' 0)"
failure 64 'lk: INVALID: *1024*'

scenario 'bad durations, numbers and times'
for duration in '' x -5 +5 '5 s' 5x 30s1m 1. 1e3 inf 0x5 99999999999999999999d; do
    for option in --ttl --wait --ttl= -w; do
        case $option in
        *=) lk acquire db "$option$duration" ;;
        *) lk acquire db "$option" "$duration" ;;
        esac
        failure 64 'lk: INVALID: -*: *'
    done
done
for ttl in 0 49ms 0.049 367d 8785h; do
    lk acquire db --ttl "$ttl" --json
    expect_code 64
    expect '.status' '"invalid"'
done
for number in '' 0 -1 1.5 x 2147483648 ' 1' 1e3; do
    lk acquire db --limit "$number"
    failure 64 'lk: INVALID: --limit: *'
done
for time in '' 25:00 noon 2020-01-01T00:00:00Z 2030-02-30T00:00:00Z 2030-02-30 2030-01-01x; do
    lk acquire db --until "$time"
    failure 64 'lk: INVALID: --until: *'
done
lk ls --json
expect_out ''

scenario 'durations that are good'
for ttl in 50ms 0.05 1.5s 2m 1h 366d 8784h; do
    lk acquire db --ttl "$ttl" --json
    expect_code 0
done
expect '.ttl_ms' 31622400000

scenario 'what is typed wrongly'
lk
failure 64 'lk: INVALID: a command is needed; see: lk help'
for line in 'acquire' 'acquire --bogus db' 'acquire -Z db' 'acquire db --ttl' 'acquire -n -w 5 db' \
    'acquire --queue -n db' 'acquire -s -x db' 'acquire db --ttl 5 --until 17:00' 'show' \
    'show a b' 'ls a b' 'renew db -n' 'release db --ttl 5' 'doctor x' 'break' 'nonsense' \
    'get' 'push q' 'exist' 'acquire db --try=1' 'acquire -E 256 -n db' 'renew db --value'; do
    # shellcheck disable=SC2086 # words are parted at blanks
    lk $line
    failure 64 'lk: INVALID: *'
    # shellcheck disable=SC2086
    lk --json $line
    expect_code 64
    expect_err ''
    expect_keys 'status error'
    expect .status '"invalid"'
done
lk --json
expect_code 64
expect .status '"invalid"'
lk aquire db
failure 64 'lk: INVALID: *did you mean "acquire"?'

scenario 'run needs its dashes, and takes no --json'
lk run db touch "$work/ran"
failure 64 'lk: INVALID: *--*'
lk run db --
failure 64 'lk: INVALID: *'
lk run -- true
failure 64 'lk: INVALID: *PART*'
lk run --json db -- touch "$work/ran"
failure 64 'lk: INVALID: *--json*'
[ ! -e "$work/ran" ] || complain 'a command was run'
lk run db -E 7 -- sh -c 'exit 5'
expect_code 5

scenario 'options may be anywhere before the dashes'
lk --owner ana acquire --json -- -db
expect_code 0
expect '[.owner, .paths[0]]' '["ana","-db"]'
lk release --owner=ana -- -db
expect_code 0
lk acquire db -S "sqlite:$work/other.db" --owner ana
expect_code 0
lk ls -S "sqlite:$work/other.db" --json
expect .path '"db"'
lk ls --json
expect_out ''

scenario 'stores that there are not'
for url in 'nonsense' 'ftp://x/y' 'sqlite:' ''; do
    lk -S "$url" ls
    case $code in
    64 | 79) ;;
    *) complain 'expected 64 or 79' ;;
    esac
    expect_out ''
done

scenario 'a store that cannot be reached is UNAVAILABLE'
damage_store
for line in 'acquire db' 'renew db' 'release db' 'break db --reason why' audit ls 'show db'; do
    # shellcheck disable=SC2086 # words are parted at blanks
    lk $line
    failure 69 'lk: UNAVAILABLE: *'
    # shellcheck disable=SC2086
    lk $line --json
    expect_code 69
    expect_err ''
    expect .status '"unavailable"'
done

scenario 'a password is never repeated'
for command in ls doctor 'acquire db'; do
    for form in '' --json; do
        # shellcheck disable=SC2086
        lk -S 'postgresql://user:secret@host/db' $command $form
        [ "$code" -ne 0 ] || complain 'expected a failure'
        if grep -q secret "$work/out" "$work/err"; then complain 'the password is there'; fi
    done
done

scenario 'a file that is no store is not touched'
printf 'precious\n' >"$store"
lk acquire db
[ "$code" -ne 0 ] || complain 'expected a failure'
expect_out ''
expect_err 'lk: *: *'
[ "$(cat "$store")" = precious ] || complain 'it was written to'

scenario 'a store that one may not write is DENIED'
cp "$LK_PROGRAM" "$work/lk"
lk acquire db
chmod 755 "$work"
chmod 700 "$store"
if [ "$(id -u)" -eq 0 ]; then
    as_other_user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
else
    chmod 000 "$store"
    as_other_user() { "$@"; }
fi
command='lk acquire db, by another user'
as_other_user "$work/lk" acquire db >"$work/out" 2>"$work/err"
code=$?
failure 77 'lk: DENIED: *'

scenario 'a bound request needs a connection that stays: what keeps one is named'
why='lk: INVALID: --bound: *lk run --bound *lk hold --bound *docs/cli.md (R18)'
for words in '--bound' '--bound b' '--bound=yes'; do
    # shellcheck disable=SC2086 # words
    lk acquire a $words
    failure 64 "$why"
done
lk run a --bound=yes -- touch "$work/ran"
failure 64 'lk: INVALID: --bound takes no value, not "yes"'
lk run --bound a --bound pool?limit=3 -- touch "$work/ran"
failure 79 'lk: UNSUPPORTED: *'
lk hold --bound a
failure 79 'lk: UNSUPPORTED: *'
[ ! -e "$work/ran" ] || complain 'a command was run'
lk acquire --json a --bound
expect_code 64
expect '.error | startswith("--bound: ")' true
lk ls
expect_out ''
lk serve --bound
failure 64 'lk: INVALID: --bound needs a value: NAME=N'
lk renew a --bound x
failure 64 'lk: INVALID: renew does not take --bound; *'

scenario 'what stdout does not take is no success'
if "$LK_PROGRAM" acquire db --owner ana >/dev/full 2>"$work/err"; then complain 'a full disk'; fi
grep -q '^lk: INTERNAL: ' "$work/err" || complain 'a full disk, said'
lk acquire db --owner ana
if "$LK_PROGRAM" ls --json >&- 2>/dev/null; then complain 'closed'; fi
mkfifo "$work/pipe"
exec 8<>"$work/pipe" 7>"$work/pipe" 8<&- # a pipe that no process reads any more
for line in help '--help' '--version' 'ls --json' 'acquire --json db --owner ana'; do
    # shellcheck disable=SC2086 # words are parted at blanks
    "$LK_PROGRAM" $line >&7 2>"$work/err"
    code=$?
    [ "$code" -eq 141 ] || complain "a closed pipe: $line"
    [ ! -s "$work/err" ] || complain "a closed pipe, said: $line"
done
exec 7>&-
lk ls --json
expect_code 0

scenario 'words of other programs are understood as far as a suggestion'
for pair in lock:acquire unlock:release list:ls status:show; do
    lk "${pair%:*}" db
    failure 64 "lk: INVALID: unknown command \"${pair%:*}\"; did you mean \"${pair#*:}\"?"
done
for pair in timeout=5:wait nonblock:try; do
    lk acquire db "--${pair%:*}"
    failure 64 "lk: INVALID: unknown option --*; did you mean --${pair#*:}?"
done
lk help
for heading in locks values work administration 'this program'; do
    grep -qx " $heading" "$work/out" || complain "$heading"
done
lk help unlock
failure 64 'lk: INVALID: unknown command "unlock"; did you mean "release"?'
lk help nonsense
failure 64 'lk: INVALID: unknown command "nonsense"; see: lk help'
lk -S sqlite3:db ls
failure 79 'lk: UNSUPPORTED: *; did you mean sqlite:?'
lk -S "$work/locks.db" ls
failure 64 "lk: INVALID: *; did you mean sqlite:$work/locks.db?"
lk -S jdbc:postgresql://localhost/db ls
failure 79 'lk: UNSUPPORTED: *, without jdbc:'
for call in 'ls' 'acquire db --owner ana' 'run db -- true' 'doctor'; do
    LK_STORE=sqlite://x.db lk $call
    failure 64 'lk: INVALID: *; did you mean sqlite:x.db or sqlite:///x.db?'
done
[ ! -e /x.db ] || complain 'a file in the root directory'
lk -S localhost:7420 ls
failure 79 'lk: UNSUPPORTED: *; did you mean lk://localhost:7420?'

scenario 'a closed stdout is not the store'
"$LK_PROGRAM" acquire db --owner ana >&- 2>/dev/null
"$LK_PROGRAM" acquire db --owner ana 2>&- >/dev/null
code=$?
expect_code 0
lk doctor
expect_code 0

scenario 'no locale has a say'
lk acquire db --ttl 1.5 --owner a --json
cp "$work/out" "$work/first"
LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8 "$LK_PROGRAM" acquire db --ttl 1.5 --owner a --json >"$work/out"
expect .ttl_ms 1500

scenario 'the default store is made on first use'
unset LK_STORE
export XDG_STATE_HOME="$work/state"
lk acquire db
expect_code 0
[ -f "$work/state/lockkeeper/locks.db" ] || complain 'under XDG_STATE_HOME'
unset XDG_STATE_HOME
HOME=$work/home
export HOME
mkdir "$HOME"
lk acquire db
expect_code 0
[ -f "$HOME/.local/state/lockkeeper/locks.db" ] || complain 'under HOME'

finish
