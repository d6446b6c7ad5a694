#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: package.sh SOURCE_ROOT BUILD_DIRECTORY
#
# The Debian package that `make deb` makes, put into a root directory of its own by dpkg: what is
# in it works from there, is what the package says, and goes away again without a trace.
. "${0%/*}/../tap.sh"
source=$1
build=$2
root=$work/root
unset LK_STORE LK_OWNER MAKEFLAGS
XDG_STATE_HOME=$work/state
PATH=$PATH:/usr/sbin:/sbin # dpkg wants ldconfig there
export XDG_STATE_HOME PATH

make_package() {
    package=$("$source/tools/deb" "$build" 2>"$work/err" | tail -n 1)
    if [ ! -f "$package" ]; then
        cat "$work/err"
        return 1
    fi
}

is_same_again() {
    first=$(md5sum <"$package")
    make_package && [ "$(md5sum <"$package")" = "$first" ]
}

in_root() { # dpkg's options and arguments
    dpkg --root="$root" --force-not-root --force-depends --log="$work/dpkg.log" "$@"
}

install_it() {
    mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info"
    : >"$root/var/lib/dpkg/status"
    in_root --install "$package"
}

field() { # NAME PATTERN: what the package says of itself
    dpkg-deb --field "$package" "$1" | grep -E -- "$2"
}

has_no_needless() {
    ! field Depends 'libhiredis|libmariadb|libpq'
}

belongs_to_root() {
    ! dpkg-deb --contents "$package" | grep -v ' root/root '
}

has_files() {
    for pattern in '/usr/bin/lk$' '/liblockkeeper\.so\.[0-9]+$' '/liblockkeeper\.a$' \
        '/usr/include/lockkeeper/lockkeeper\.h$' '/pkgconfig/lockkeeper\.pc$' '/man1/lk-run\.1\.gz$' \
        '/bash-completion/completions/lk' '/doc/lockkeeper/copyright$' '/doc/lockkeeper/rules\.md$'; do
        in_root --listfiles lockkeeper | grep -qE -- "$pattern" || {
            echo "no $pattern"
            return 1
        }
    done
}

locks() {
    token=$("$root/usr/bin/lk" acquire db/t1 --owner me) &&
        ! "$root/usr/bin/lk" acquire db --try --owner you &&
        "$root/usr/bin/lk" release db/t1 --owner me --token "$token" &&
        "$root/usr/bin/lk" run db -- true
}

compiles() {
    PKG_CONFIG_PATH=$(dirname "$(find "$root/usr/lib" -name lockkeeper.pc)")
    PKG_CONFIG_SYSROOT_DIR=$root
    PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1
    PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
    export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_ALLOW_SYSTEM_CFLAGS
    export PKG_CONFIG_ALLOW_SYSTEM_LIBS
    # shellcheck disable=SC2046 # a list of options
    cc -Wall -Wextra -Werror "$source/examples/mutex.c" -o "$work/mutex" \
        $(pkg-config --cflags --libs lockkeeper) &&
        LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") "$work/mutex"
}

# A link that is broken, or leads to a soname that the package does not have, is found by following.
has_soname() {
    soname=$(objdump -p "$(find "$root/usr/lib" -name liblockkeeper.so)" | sed -n 's/^ *SONAME *//p')
    find "$root/usr/lib" -name "$soname" | grep . && dpkg-deb --ctrl-tarfile "$package" |
        tar -xO ./shlibs | grep -x "${soname%.so.*} ${soname##*.} lockkeeper (>= .*)"
}

says_nothing_of_here() { # what is installed does not name the directories that it was made in
    ! grep -rlF -e "$source" -e "$build" "$root/usr"
}

remove_it() {
    in_root --remove lockkeeper && ! find "$root/usr" -type f -o -type l | grep .
}

ok "the package is made" make_package
[ "$failures" -eq 0 ] || finish
ok "the same tree makes the same package" is_same_again
ok "it has the version of the header" field Version "^$("$source/tools/version")\$"
ok "it needs the libraries that it uses" field Depends 'libsqlite3-0'
ok "it recommends those that it loads" field Recommends 'libhiredis.*libmariadb3.*libpq5 \(>= '
ok "and does not need them" has_no_needless
ok "the maintainer field is set" field Maintainer \
    '^Lockkeeper maintainers <maintainers@lockkeeper\.invalid>$'
ok "its files belong to root" belongs_to_root
ok "dpkg installs it" install_it
ok "what belongs to it is there" has_files
ok "its files are as they were packed" in_root --verify lockkeeper
ok "its library is the one that programs will ask for" has_soname
ok "it names no directory of the machine that made it" says_nothing_of_here
ok "its lk takes and gives locks" locks
ok "a program compiles against it and runs" compiles
ok "dpkg removes it without a trace" remove_it
finish
