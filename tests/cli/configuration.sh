#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Where the store comes from: -S, LK_STORE, the user's configuration file, the machine's, the user's
# own file. The machine's file is /etc/lockkeeper.conf in a mount namespace of the test's own, so
# that the test does not depend on the machine, nor change it.
if [ "${LK_TEST_IN_NAMESPACE-}" != yes ]; then
    LK_TEST_IN_NAMESPACE=yes exec unshare --map-root-user --mount sh "$0" "$@"
fi
. "${0%/*}/harness.sh"

mkdir "$work/etc"
mount --bind "$work/etc" /etc
machine=/etc/lockkeeper.conf
HOME=$work/home
mkdir -p "$HOME"
export HOME
unset XDG_CONFIG_HOME XDG_STATE_HOME

# Begins a scenario without any name for the store.
unnamed() {
    scenario "$1"
    rm -rf "$machine" "$HOME/.config" "$work/config" "$HOME/.local"
    mkdir -p "$HOME/.config"
    unset LK_STORE XDG_CONFIG_HOME
}

user_says() {
    printf '%s\n' "$@" >"$HOME/.config/lockkeeper.conf"
}

machine_says() {
    printf '%s\n' "$@" >"$machine"
}

# expect_store URL NAMED_BY: what doctor says, for people and in JSON.
expect_store() {
    lk doctor --json
    expect .report.store "\"$1\""
    expect '.report["named by"]' "\"$2\""
    lk doctor
    expect_code 0
    grep -qxF "named by: $2" "$work/out" || complain "named by $2"
}

unnamed 'without any file it is the store of this user alone, which reading does not make'
lk doctor
expect_code 0
grep -qx "named by: nothing; it is the store of this user alone" "$work/out" || complain 'by nothing'
grep -qx "store: sqlite:$HOME/.local/state/lockkeeper/locks.db" "$work/out" || complain 'which'
[ ! -e "$HOME/.local" ] || complain 'reading made it'

unnamed 'the file of the machine names the store of all users'
machine_says '# for all' '' "store = sqlite:$store"
lk acquire x
expect_code 0
[ -f "$store" ] || complain 'the file of the machine was not used'
expect_store "sqlite:$store" "$machine:3"

unnamed 'the file of the user comes before it'
machine_says 'this is not even read'
user_says "store = sqlite:$store"
lk acquire x
expect_code 0
expect_store "sqlite:$store" "$HOME/.config/lockkeeper.conf:1"

unnamed 'which is in XDG_CONFIG_HOME if that is set'
user_says 'this is not even read'
mkdir "$work/config"
echo "store = sqlite:$store" >"$work/config/lockkeeper.conf"
export XDG_CONFIG_HOME="$work/config"
expect_store "sqlite:$store" "$work/config/lockkeeper.conf:1"

unnamed 'a file of the user that names none leaves it to the machine'
user_says '# store = mem:'
machine_says "store = sqlite:$store"
expect_store "sqlite:$store" "$machine:1"

unnamed 'LK_STORE comes before both, and -S before LK_STORE'
user_says 'this is not even read'
machine_says 'nor this'
LK_STORE=sqlite:$store
export LK_STORE
expect_store "sqlite:$store" LK_STORE
lk doctor -S "sqlite:$store.other"
expect_code 0
grep -qx 'named by: -S' "$work/out" || complain 'by -S'

unnamed 'a line that is not understood is refused, with its place and what to do'
machine_says '' 'stroe = mem:'
lk acquire x
failure 64 "lk: INVALID: $machine:2: *store = URL*"
lk run x -- true
failure 64 "lk: INVALID: $machine:2: *"
lk ls
failure 64 "lk: INVALID: $machine:2: *"
lk schema
failure 64 "lk: INVALID: $machine:2: *"

unnamed 'a file that cannot be read is no file that says nothing'
mkdir "$machine"
lk acquire x
failure 69 "lk: UNAVAILABLE: the configuration file $machine: *"

unnamed 'schema prints what that store needs'
machine_says 'store = postgresql://db.example/shop'
lk schema
expect_code 0
grep -q plpgsql "$work/out" || complain 'not that of PostgreSQL'

unnamed 'an empty variable names no store, and is refused'
for call in 'acquire x' 'ls' 'run x -- true' 'work q --drain -- true' 'doctor' 'schema' 'push q 1' 'watch'; do
    # shellcheck disable=SC2086 # they are words
    LK_STORE='' lk $call
    expect_code 64
    expect_err 'lk: INVALID: LK_STORE is set, but empty: *'
done
LK_STORE_URL_FILE='' lk acquire x
failure 64 'lk: INVALID: LK_STORE_URL_FILE is set, but empty: *'
lk -S '' acquire x
failure 64 'lk: INVALID: *'
[ ! -e "$HOME/.local" ] || complain 'a store was made'
user_says 'store ='
lk acquire x
failure 64 "lk: INVALID: $HOME/.config/lockkeeper.conf:1: no URL; *"

unnamed 'a file may say that no store is the default'
machine_says '# a comment' 'store = none'
lk acquire x
failure 64 "lk: INVALID: $machine:2 says that no store is the default; name one: -S URL, or LK_STORE"
lk ls
failure 64 "lk: INVALID: $machine:2 *"
[ ! -e "$HOME/.local" ] || complain 'a store was made'
lk -S "sqlite:$store" acquire x
expect_code 0
user_says "store = sqlite:$store"
lk acquire y
expect_code 0
machine_says "store = sqlite:$store"
user_says 'store = none'
lk acquire x
failure 64 "lk: INVALID: $HOME/.config/lockkeeper.conf:1 says *"

unnamed 'that the store of this user alone was made is said without a terminal, too, once'
lk acquire x
expect_err "lk: made sqlite:$HOME/.local/state/lockkeeper/locks.db, the store of this user alone; *"
lk acquire y
expect_err ''
for call in 'run x -- true' 'work q --drain -- true' 'push q 1'; do
    rm -rf "$HOME/.local"
    # shellcheck disable=SC2086 # they are words
    lk $call
    expect_code 0
    grep -q "^lk: made sqlite:$HOME" "$work/err" || complain 'not said'
done
for option in -q --json; do
    rm -rf "$HOME/.local"
    lk acquire x "$option"
    expect_err ''
done

unnamed 'a terminal is told that the store of this user alone was made, once'
script -qec "$LK_PROGRAM acquire x; $LK_PROGRAM acquire y" /dev/null </dev/null >"$work/out"
[ "$(grep -c "made sqlite:$HOME/.local/state/lockkeeper/locks.db, the store of this user" \
    "$work/out")" -eq 1 ] || complain 'once'

unnamed 'the first line of a wait names the store of this user alone'
"$LK_PROGRAM" acquire x --owner ana >/dev/null
"$LK_PROGRAM" run -v x -- true 2>"$work/err" &
until_true grep -q 'WAITING: x is held by ana' "$work/err"
"$LK_PROGRAM" release x --owner ana
wait $!
grep -q "store of this user alone, sqlite:$HOME/" "$work/err" || complain 'which store'

finish
