#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: install_deps.sh SOURCE_ROOT
#
# tools/install-deps on a machine that has nothing, with an apt of the test: another apt is waited for,
# and one package that is unknown does not keep the others from being installed.
. "${0%/*}/../tap.sh"
tool=$1/tools/install-deps
bin=$work/bin
mkdir "$bin"
for name in cat chmod cmp date dirname env grep head mktemp rm sed sh; do
    ln -s "$(command -v "$name")" "$bin/$name"
done

program() { # NAME LINE...
    file=$bin/$1
    shift
    printf '%s\n' '#!/bin/sh' "$@" >"$file"
    chmod 755 "$file"
}

for name in cc meson ninja pkg-config; do program "$name"; done # all is there but scdoc and sqlite3
program id 'echo 0'
# shellcheck disable=SC2016 # expanded there
program sleep 'echo "sleep $1" >>"$HERE/calls"'

# apt_has LINE...: what apt-get does, which has its words without the options.
apt_has() {
    # shellcheck disable=SC2016 # expanded there
    program apt-get 'words=' 'while [ $# -gt 0 ]; do case $1 in -o) shift ;; -*) ;; *) words="$words $1" ;; esac; shift; done' \
        'echo "$words" >>"$HERE/calls"' \
        'locked() { echo "E: Could not get lock $1. It is held by process 4711 (unattended-upgr)" >&2; exit 100; }' \
        'first() { [ ! -e "$HERE/$1" ] && : >"$HERE/$1"; }' \
        'put() { printf "#!/bin/sh\n" >"$HERE/bin/$1"; chmod 755 "$HERE/bin/$1"; }' "$@"
    rm -f "$work/calls" "$work"/first.*
}

run() { # CODE
    wanted=$1
    got=0
    env -i PATH="$bin" HERE="$work" TMPDIR="$work" "$tool" demo >"$work/out" 2>"$work/err" || got=$?
    [ "$got" -eq "$wanted" ]
}

calls() { printf '%s\n' "$@" | diff - "$work/calls"; }

waits=$(printf '%s' 'install-deps: another apt is at work (process 4711 (unattended-upgr)): ' \
    'waiting for it, 10 minutes at most')

# shellcheck disable=SC2016 # expanded there
apt_has 'case $words in' \
    '" update") first first.lists && locked /var/lib/apt/lists/lock ;;' \
    '*) first first.dpkg && locked /var/lib/dpkg/lock-frontend; first first.archives && locked /var/cache/apt/archives/lock; put scdoc; put sqlite3 ;;' \
    'esac; exit 0'
ok "another apt is waited for, whichever of the locks it has" run 0
ok "it has been said what for, once for each step" test "$(grep -cxF "$waits" "$work/out")" -eq 2
ok "and every step was done" calls ' update' 'sleep 1' ' update' ' install scdoc sqlite3' 'sleep 1' \
    ' install scdoc sqlite3' 'sleep 1' ' install scdoc sqlite3'

rm "$bin/scdoc" "$bin/sqlite3"
# shellcheck disable=SC2016 # expanded there
apt_has 'case $words in *scdoc*) echo "E: Unable to locate package scdoc" >&2; exit 100 ;; *sqlite3) put sqlite3 ;; esac'
ok "a package that is unknown here is an error" run 69
ok "which names it alone" grep -qx "install-deps: still needed (Debian's names): scdoc" "$work/err"
ok "and the others are installed" test -x "$bin/sqlite3"
ok "one after the other" calls ' update' ' install scdoc sqlite3' ' install scdoc' ' install sqlite3'
finish
