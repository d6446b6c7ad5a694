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
    lockkeeper.service lockkeeper-ha.service network.conf openapi.json; do
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

# ---- a name that is taken ----

# A stranger's program where lk is to be: as in `make install`, with the same staging directory.
bin=$(dirname "$(is_there lk)")
is_kept() {
    ! "$source/tools/foreign" install "$build" lk "$work/root" 2>"$work/err" && [ "$(cat "$bin/lk")" = stranger ] &&
        grep -F "$bin/lk is there and is not Lockkeeper's" "$work/err" && grep -q 'make install NAME=' "$work/err"
}
stays_at_uninstall() { # a build directory that has installed this
    mkdir -p "$work/made/meson-logs"
    printf '%s\n' '# List of files installed by Meson' "$bin/lk" "$libraries/liblockkeeper.a" >"$work/made/meson-logs/install-log.txt"
    "$source/tools/foreign" uninstall "$work/made" | grep -F "$bin/lk stays" &&
        ! grep -x ".*/bin/lk" "$work/made/meson-logs/install-log.txt" && grep -F liblockkeeper.a "$work/made/meson-logs/install-log.txt"
}
ok "what is ours is overwritten" "$source/tools/foreign" install "$build" lk "$work/root"
mv "$bin/lk" "$work/lk"
echo stranger >"$bin/lk"
ok "a program of another's stays, and the refusal says what to do" is_kept
ok "uninstalling leaves it, too, and says so" stays_at_uninstall
rm "$bin/lk"
ln -s nowhere "$bin/lk"
is_refused() { ! "$source/tools/foreign" install "$build" lk "$work/root" 2>"$work/err"; }
ok "so does a link that leads nowhere" is_refused
mv -f "$work/lk" "$bin/lk"
page=$(is_there lk.1)
mv "$page" "$work/lk.1"
echo stranger >"$page"
ok "so does a manual page" is_refused
mv -f "$work/lk.1" "$page"

# The program is called what it was installed as.
ln "$bin/lk" "$bin/lockkeeper"
has_its_name() {
    "$bin/lockkeeper" help >"$work/out" && grep -q '^usage: lockkeeper \[-S URL\] COMMAND' "$work/out" &&
        grep -q '  lockkeeper run backup -- ' "$work/out" && grep -q '  lk://HOST ' "$work/out" &&
        "$bin/lockkeeper" help run | grep -q '^usage: lockkeeper run ' &&
        ! "$bin/lockkeeper" acquire 2>"$work/err" &&
        grep -qx 'lockkeeper: INVALID: acquire needs PART...; see: lockkeeper help acquire' "$work/err" &&
        [ "$("$bin/lockkeeper" version)" = "lockkeeper $("$source/tools/version")" ]
}
has_no_other() { ! grep -E '(^|[ (`"*])lk([ *`).,;]|$)' "$1"; }
helps_under_it() {
    for command in '' run serve work push; do
        # shellcheck disable=SC2086 # none, or one
        "$bin/lockkeeper" help $command >"$work/out" && has_no_other "$work/out" || return 1
    done
}
pages_have_it() {
    for command in lk run serve; do
        page=$source/docs/man/lk-$command.scd
        [ "$command" != lk ] || page=$source/docs/man/lk.scd
        "$source/docs/man/make-page" lockkeeper cat "$command" "$page" -- "$build/docs/man/describe" >"$work/out" &&
            has_no_other "$work/out" || return 1
    done
    grep -qE '^lockkeeper-serve\(1\) ' "$work/out" && grep -q '\*lockkeeper\*(1)' "$work/out" && grep -q 'lk://' "$work/out"
}
completes() {
    "$source/tools/named" lockkeeper "$source/completion/lk.bash" >"$work/lockkeeper.bash"
    "$source/tools/named" lockkeeper "$source/completion/_lk" | grep -qx '#compdef lockkeeper' &&
        "$source/tools/named" lockkeeper "$source/completion/lk.fish" | grep -q '^complete -c lockkeeper ' &&
        PATH=$bin:$PATH bash -c '. "$1"; complete -p lockkeeper; COMP_WORDS=(lockkeeper rel) COMP_CWORD=1
            COMP_LINE="lockkeeper rel" COMP_POINT=14; _lockkeeper; echo "${COMPREPLY[0]}"' - "$work/lockkeeper.bash" |
        grep -x release
}
ok "lk by another name says that name" has_its_name
ok "its help texts have no other one" helps_under_it
ok "its manual pages, too" pages_have_it
ok "and its completions" completes
is_no_name() { ! "$source/tools/named" --check "$1" 2>"$work/err" && grep -q "choose another name" "$work/err"; }
ok "a path is no name" is_no_name ../lk
ok "nor is an option" is_no_name -lk
ok "nor a folder of the build" is_no_name tests

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
