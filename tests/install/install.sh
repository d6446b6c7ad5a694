#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: install.sh SOURCE_ROOT BUILD_ROOT [fortified]
#
# What `make install` puts in place is enough for a user who has nothing else: programs of
# examples/ are compiled against it with pkg-config, shared and static, and run.
set -e
. "${0%/*}/../tap.sh"
source=$1
build=$2
fortified=${3-}
log=$build/meson-logs/install-log.txt

# The build directory remembers its last installation for `make uninstall`. This is not one.
[ ! -e "$log" ] || cp "$log" "$work/install-log"
put_back() {
    rm -f "$log"
    [ ! -e "$work/install-log" ] || mv "$work/install-log" "$log"
    rm -rf "$work"
}
trap put_back EXIT

is_there() { # NAME: a file below the staged installation
    find "$work/root" -name "$1" | grep .
}

ok "meson install" meson install -C "$build" --no-rebuild --quiet --destdir "$work/root"
for file in lk liblockkeeper.so liblockkeeper.a lockkeeper.h terms.h watch.h work.h \
    canal.h liblockkeeper-canal.so liblockkeeper-canal.a lockkeeper-canal.pc \
    lockkeeper.pc lk.1 lk-run.1 liblockkeeper.3 lockkeeper-rules.7 lockkeeper.conf.5 lk.bash _lk lk.fish \
    lockkeeper.service lockkeeper-ha.service openapi.json; do
    ok "$file is installed" is_there "$file"
done

libraries=$(dirname "$(is_there liblockkeeper.a)")
PKG_CONFIG_PATH=$libraries/pkgconfig
PKG_CONFIG_SYSROOT_DIR=$work/root
PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 # wherever the prefix is, /usr included
PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
XDG_STATE_HOME=$work/state
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_ALLOW_SYSTEM_CFLAGS
export PKG_CONFIG_ALLOW_SYSTEM_LIBS XDG_STATE_HOME
unset LK_STORE

compile_shared() {
    # shellcheck disable=SC2046 # a list of options
    cc -Wall -Wextra $("$source/tools/tried" -Werror cc) "$source/examples/mutex.c" -o "$work/shared" \
        $(pkg-config --cflags --libs lockkeeper)
}

# Before 1.0, that is the minor version, too: structs may change with it.
needs_abi() {
    for library in liblockkeeper liblockkeeper-canal; do
        readelf -d "$(is_there "$library.so")" | grep -F "[$library.so.$("$source/tools/version" --abi)]" || return 1
    done
    case $("$source/tools/version") in 0.*) [ "$("$source/tools/version" --abi)" != 0 ] ;; esac
}

# The static library brings nothing of what it needs, and what it needs may well be shared.
compile_static() {
    # shellcheck disable=SC2046 # lists of options
    cc -Wall -Wextra $("$source/tools/tried" -Werror cc) "$source/examples/mutex.c" -o "$work/static" \
        $(pkg-config --cflags --static --libs lockkeeper | sed 's/-llockkeeper/-l:liblockkeeper.a/')
}

# What the compiler has to make defects harder to exploit (meson.build).
is_hardened() { # FILE
    readelf -W --dyn-syms "$1" >"$work/symbols" && readelf -W -d "$1" >"$work/dynamic" &&
        readelf -W -n -l "$1" >"$work/notes" || return 1
    grep -q ' __stack_chk_fail@' "$work/symbols" || { echo 'no canaries'; return 1; }
    grep -qE '(BIND_NOW|FLAGS_1.*NOW)' "$work/dynamic" || { echo 'bound lazily'; return 1; }
    grep -q GNU_RELRO "$work/notes" || { echo 'the table of calls stays writable'; return 1; }
    [ "${2-}" != fortified ] || grep -qE ' __[a-z]+_chk@' "$work/symbols" || { echo 'lengths unchecked'; return 1; }
    [ "$protects_jumps" = no ] || grep -qE 'IBT|BTI' "$work/notes" || { echo 'any jump is allowed'; return 1; }
}

# The processor's part is where the compiler and the objects that each program begins with have it.
protects_jumps=no
echo 'int main(void) { return 0; }' >"$work/empty.c"
for flag in -fcf-protection -mbranch-protection=standard; do
    ! cc "$flag" "$work/empty.c" -o "$work/empty" 2>"$work/err" ||
        ! readelf -n "$work/empty" | grep -qE 'IBT|BTI' || protects_jumps=yes
done
ok "lk is hardened" is_hardened "$(is_there lk)" $fortified
ok "the library is hardened" is_hardened "$(is_there liblockkeeper.so)" $fortified
ok "the library of the counters is hardened" is_hardened "$(is_there liblockkeeper-canal.so)"

# is_safe_unit UNIT: systemd knows all that it says, and what the service may do is little.
is_safe_unit() {
    sed "s|^ExecStart=[^ ]*|ExecStart=$build/lk|" "$(is_there "$1")" >"$work/$1" &&
        systemd-analyze --man=no verify "$work/$1" >"$work/verified" 2>&1
    ! grep -E 'Unknown|Failed to parse|Invalid' "$work/verified" &&
        systemd-analyze security --offline=yes --threshold=20 "$work/$1"
}
ok "the unit of the service may do little" is_safe_unit lockkeeper.service
ok "and so may that of several services" is_safe_unit lockkeeper-ha.service
# systemd refuses a dynamic user whose name a group has already, as the Debian package makes one.
ok "the dynamic user has a name of its own" grep -qx 'User=lockkeeper-service' "$(is_there lockkeeper.service)"

ok "the version is the header's" test \
    "$(pkg-config --modversion lockkeeper)" = "$("$source/tools/version")"
ok "the library's name has what programs built against it depend on" needs_abi
ok "a program compiles against the shared library" compile_shared
ok "it runs" env LD_LIBRARY_PATH="$libraries" "$work/shared"
ok "a program compiles against the static library" compile_static
ok "it runs without the shared one" env -u LD_LIBRARY_PATH "$work/static"
ok "the installed lk runs" "$(is_there lk)" version

# A linker that knows nothing of what was installed, and then does.
tells_of() { # SENTENCE LIBDIR
    program ldconfig "$cache"
    PATH=$work/bin:$PATH "$source/tools/after-install" "$2" >"$work/out" && grep -q "$1" "$work/out"
}
program() { # NAME LINE
    mkdir -p "$work/bin"
    printf '%s\n' '#!/bin/sh' "$2" >"$work/bin/$1"
    chmod 755 "$work/bin/$1"
}
program id 'echo 1000'
# shellcheck disable=SC2016 # expanded there
cache='case $1 in -p) ;; *) echo "/usr/local/lib: (from x)" ;; esac'
ok "it says to run ldconfig where that is all" tells_of 'run as root: ldconfig' /usr/local/lib
ok "and else what a directory needs" tells_of 'ld.so.conf.d.*LD_LIBRARY_PATH=/opt/x/lib$' /opt/x/lib
program id 'echo 0'
# shellcheck disable=SC2016 # expanded there
cache='case $1 in "") : >"$0.ran" ;; -p) [ ! -e "$0.ran" ] || echo "l => /usr/local/lib/liblockkeeper.so.0.1" ;; esac'
says_nothing() { ! tells_of . /usr/local/lib && [ -e "$work/bin/ldconfig.ran" ]; }
ok "root runs it, and then nothing is left to say" says_nothing
finish
