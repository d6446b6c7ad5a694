# SPDX-License-Identifier: Apache-2.0
#
# usage: libraries.sh LK COMPILER ROOT [FILE PACKAGE URL]...
#
# Which shared libraries lk maps: none of a database whose store is not opened, nor the screen's. For
# each client library that is loaded when a URL is opened: what is said if it is missing, or too old. If its
# PACKAGE is `linked`, it is part of lk, which does without the file.
#
# COMPILER makes libraries for the machine of lk. ROOT is the directory of that machine's files, '' if it is this
# one: an emulator has libraries of its own, so only those below ROOT count.
. "${0%/*}/../tap.sh"
lk=$1
compiler=$2
root=$3
shift 3
unset LK_STORE LK_OWNER
mkdir "$work/broken" "$work/old"

maps() { # lk is the parent of what it runs
    # shellcheck disable=SC2016 # for the inner shell
    "$lk" -S "sqlite:$work/db" run x -- sh -c 'cat /proc/$PPID/maps >"$0"' "$work/maps" &&
        grep "$root/" "$work/maps" >"$work/libraries" && grep '/libsqlite3\.so' "$work/libraries"
}

maps_no_other() {
    ! grep -E '/lib(pq|mariadb|hiredis|ssl|crypto|gnutls|ldap|krb5|ncursesw|tinfo)[-.]' "$work/libraries"
}

refuses() { # DIRECTORY URL PATTERN: libraries in the directory are found first
    status=0
    LD_LIBRARY_PATH=$work/$1 "$lk" -S "$2" ls 2>"$work/err" || status=$?
    [ "$status" -eq 79 ] && grep -E "UNSUPPORTED: $3" "$work/err"
}

does_without() { # DIRECTORY URL
    status=0
    LD_LIBRARY_PATH=$work/$1 "$lk" -S "$2" ls 2>"$work/err" || status=$?
    [ "$status" -eq 69 ] && grep 'UNAVAILABLE: cannot connect' "$work/err"
}

ok "the maps of lk run can be read" maps
ok "with an SQLite store, none is of another database, or of the screen" maps_no_other
while [ $# -gt 0 ]; do
    echo "no library" >"$work/broken/$1"
    if [ "$2" = linked ]; then
        ok "$1 is not needed" does_without broken "$3"
        shift 3
        continue
    fi
    ok "$1, if it cannot be loaded, is named with its package" \
        refuses broken "$3" ".*library $1 \(in Debian, the package $2\), which cannot be loaded"
    $compiler ${root:+"--sysroot=$root"} -shared -x c /dev/null -o "$work/old/$1" || exit 1
    ok "$1, if it is too old, is named with what it lacks" \
        refuses old "$3" ".*newer library $1 \(in Debian, the package $2\): this one has no "
    shift 3
done
finish
