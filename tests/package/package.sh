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
# What is tried is the package, not what the compiler makes of it: without optimization it takes a
# third of the time.
DEB_CFLAGS_APPEND=-O0
INSTALL=no # other tests use what an installation would replace
export XDG_STATE_HOME PATH DEB_CFLAGS_APPEND INSTALL

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
    dpkg --root="$root" --force-not-root --force-depends --force-script-chrootless \
        --log="$work/dpkg.log" "$@"
}

install_it() {
    mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info"
    : >"$root/var/lib/dpkg/status"
    # The only group that a user can give a file to is their own.
    mkdir -p "$root/etc"
    [ "$(id -u)" -eq 0 ] || echo "lockkeeper:x:$(id -g):" >"$root/etc/group"
    in_root --install "$package" >"$work/installed" 2>&1 || { cat "$work/installed" && return 1; }
}

# Of a first installation; what it names is there.
says_what_next() {
    cat "$work/installed"
    [ "$(grep -c '^lockkeeper: ' "$work/installed")" -eq 2 ] && grep -q 'systemctl enable --now lockkeeper,' "$work/installed" &&
        [ -e "$root$(grep -o '/usr/share/doc/[^ ]*\.md' "$work/installed")" ]
}

# As `systemctl enable` does after the installation.
units_are_found() {
    for unit in lockkeeper lockkeeper-ha; do
        systemctl --root="$root" enable "$unit" && [ -L "$root/etc/systemd/system/multi-user.target.wants/$unit.service" ] &&
            systemctl --root="$root" disable "$unit" || return 1
    done
}

# The lines of docs/ha.md for a service's own user, where the package has made a group of that name.
makes_the_user() {
    grep -E '^(groupadd|useradd) ' "$source/docs/ha.md" | sed "s|add |add --prefix '$root' |; s/ *#.*//" >"$work/lines"
    [ "$(wc -l <"$work/lines")" -eq 2 ] && sh -e "$work/lines" &&
        grep -q "^lockkeeper:[^:]*:[0-9]*:$(sed -n 's/^lockkeeper:[^:]*:\([0-9]*\):.*/\1/p' "$root/etc/group"):" "$root/etc/passwd"
}

field() { # NAME PATTERN: what the package says of itself
    dpkg-deb --field "$package" "$1" | grep -E -- "$2"
}

has_no_needless() {
    ! field Depends 'libhiredis|libmariadb|libpq|libnghttp2' && ! field Recommends libhiredis
}

# hiredis, which is part of what is packed.
has_licence() {
    in_root --listfiles lockkeeper | grep '/doc/lockkeeper/copyright$' &&
        grep -q 'Salvatore Sanfilippo' "$root/usr/share/doc/lockkeeper/copyright"
}

belongs_to_root() {
    ! dpkg-deb --contents "$package" | grep -v ' root/root '
}

has_files() {
    for pattern in '/usr/bin/lk$' '/liblockkeeper\.so\.[0-9]+(\.[0-9]+)?$' '/liblockkeeper\.a$' \
        '/usr/include/lockkeeper/lockkeeper\.h$' '/pkgconfig/lockkeeper\.pc$' '/man1/lk-run\.1\.gz$' \
        '/man5/lockkeeper\.conf\.5\.gz$' '/etc/lockkeeper\.conf$' '/lib/systemd/system/lockkeeper(-ha)?\.service$' '/share/lockkeeper/network\.conf$' \
        '/bash-completion/completions/lk' '/zsh/vendor-completions/_lk$' '/doc/lockkeeper/copyright$' \
        '/doc/lockkeeper/README\.md$' '/doc/lockkeeper/docs/rules\.md$' '/doc/lockkeeper/docs/guides/cron\.md$' '/doc/lockkeeper/docs/openapi\.json$' \
        '/doc/lockkeeper/docs/pictures/show\.svg$' '/doc/lockkeeper/examples/mutex\.c$'; do
        in_root --listfiles lockkeeper | grep -qE -- "$pattern" || {
            echo "no $pattern"
            return 1
        }
    done
}

# What the pages of the package link to is in the package.
has_no_broken_links() {
    (cd "$root/usr/share/doc/lockkeeper" && find . -name '*.md' | while read -r page; do
        grep -o '\](\([^):]*\))' "$page" | sed 's/^](//; s/)$//; s/#.*//' | grep . |
            while read -r target; do
                [ -e "${page%/*}/$target" ] || echo "$page: $target"
            done
    done) >"$work/broken"
    ! grep . "$work/broken"
}

locks() {
    token=$("$root/usr/bin/lk" acquire db/t1 --owner me) &&
        ! "$root/usr/bin/lk" acquire db --try --owner you &&
        "$root/usr/bin/lk" release db/t1 --owner me --token "$token" &&
        "$root/usr/bin/lk" run db -- true
}

compiles() ( # its environment is no other case's
    # Nothing but this package: no development package of a library beneath it is asked for.
    PKG_CONFIG_LIBDIR=$(dirname "$(find "$root/usr/lib" -name lockkeeper.pc)")
    PKG_CONFIG_SYSROOT_DIR=$root
    PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1
    PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
    export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_ALLOW_SYSTEM_CFLAGS
    export PKG_CONFIG_ALLOW_SYSTEM_LIBS
    # shellcheck disable=SC2046 # a list of options
    cc -Wall -Wextra $("$source/tools/tried" -Werror cc) "$source/examples/mutex.c" -o "$work/mutex" \
        $(pkg-config --cflags --libs lockkeeper) &&
        LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_LIBDIR") "$work/mutex"
)

# A link that is broken, or leads to a soname that the package does not have, is found by following.
has_soname() {
    soname=$(objdump -p "$(find "$root/usr/lib" -name liblockkeeper.so)" | sed -n 's/^ *SONAME *//p')
    find "$root/usr/lib" -name "$soname" | grep . && dpkg-deb --ctrl-tarfile "$package" |
        tar -xO ./shlibs | grep -x "${soname%.so.*} ${soname#*.so.} lockkeeper (>= .*)"
}

says_nothing_of_here() { # what is installed does not name the directories that it was made in
    ! grep -rlF -e "$source" -e "$build" "$root/usr"
}

has_shared_store() {
    group=$(sed -n 's/^lockkeeper:[^:]*:\([0-9]*\):.*/\1/p' "$root/etc/group")
    [ "$(stat -c '%a %g' "$root/var/lib/lockkeeper")" = "2770 $group" ] &&
        [ "$(stat -c '%a %g %s' "$root/var/lib/lockkeeper/locks.db")" = "660 $group 0" ]
}

# Without a line that names a store: an installation changes nothing for its users.
names_no_store() {
    grep -q '^#store = sqlite:/var/lib/lockkeeper/locks.db$' "$root/etc/lockkeeper.conf" &&
        ! grep -v '^#' "$root/etc/lockkeeper.conf" | grep . &&
        dpkg-deb --ctrl-tarfile "$package" | tar -xO ./conffiles | grep -x /etc/lockkeeper.conf
}

is_used_by_the_group() { # with a umask that would keep the group out
    (
        umask 077
        LK_STORE=$(sed -n 's/^#store = sqlite:/sqlite:/p' "$root/etc/lockkeeper.conf")
        LK_STORE=sqlite:$root${LK_STORE#sqlite:}
        export LK_STORE
        "$root/usr/bin/lk" run x -- sh -c 'stat -c "%a %g" "${LK_STORE#sqlite:}"*' >"$work/modes" &&
            [ "$(wc -l <"$work/modes")" -eq 3 ] && ! grep -vx "660 $group" "$work/modes"
    )
}

# A program of that name that no package knows: dpkg would overwrite it.
refuses() {
    mkdir -p "$work/taken/usr/bin" "$work/taken/var/lib/dpkg/updates" "$work/taken/var/lib/dpkg/info" "$work/taken/etc"
    : >"$work/taken/var/lib/dpkg/status"
    echo stranger >"$work/taken/usr/bin/lk"
    ! (root=$work/taken && in_root --install "$package" 2>"$work/err") && grep "lk is there and is not Lockkeeper's" "$work/err" &&
        [ "$(cat "$work/taken/usr/bin/lk")" = stranger ]
}

has_other_name() {
    "$source/tools/deb" "$build" lockkeeper >"$work/out" 2>"$work/err" || return 1
    dpkg-deb --contents "$(tail -n 1 "$work/out")" >"$work/list"
    for file in bin/lockkeeper man1/lockkeeper.1.gz man1/lockkeeper-run.1.gz man7/lockkeeper-stores.7.gz \
        completions/lockkeeper.bash vendor-completions/_lockkeeper vendor_completions.d/lockkeeper.fish; do
        grep -qE "/$file\$" "$work/list" || { echo "no $file"; return 1; }
    done
    ! grep -E '/_?lk([-.][^/]*)?$' "$work/list"
}

purge_it() {
    in_root --purge lockkeeper && ! ls -d "$root/var/lib/lockkeeper" "$root/etc/lockkeeper.conf"
}

remove_it() {
    in_root --remove lockkeeper && ! find "$root/usr" -type f -o -type l | grep .
}

ok "the package is made" make_package
[ "$failures" -eq 0 ] || finish
ok "the same tree makes the same package" is_same_again
ok "it has the version of the header" field Version "^$("$source/tools/version")\$"
ok "it needs the libraries that it uses" field Depends 'libsqlite3-0'
ok "it recommends those that it loads" field Recommends 'libmariadb3.*libnghttp2-14.*libpq5 \(>= '
ok "and does not need them" has_no_needless
ok "it names the library that is part of it" field Static-Built-Using '^hiredis \(= [0-9]'
ok "the maintainer field is set" field Maintainer \
    '^Lockkeeper maintainers <maintainers@lockkeeper\.invalid>$'
ok "its files belong to root" belongs_to_root
ok "dpkg installs it" install_it
ok "it says what comes next" says_what_next
ok "what belongs to it is there" has_files
ok "systemd finds its units" units_are_found
ok "with the licence of the library that is part of it" has_licence
ok "its files are as they were packed" in_root --verify lockkeeper
ok "its library is the one that programs will ask for" has_soname
ok "it names no directory of the machine that made it" says_nothing_of_here
ok "its pages link to what is there" has_no_broken_links
ok "its lk takes and gives locks" locks
ok "a program compiles against it and runs" compiles
ok "the user of a service is made as the page says" makes_the_user
ok "the store of the group is there, empty" has_shared_store
ok "the configuration file names it in a comment" names_no_store
ok "the files of that store are the group's" is_used_by_the_group
ok "dpkg removes it without a trace" remove_it
ok "a program of the name that is another's stays" refuses
ok "purging removes the store and its configuration" purge_it
ok "a package has the program under another name" has_other_name
finish
