#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: package.sh SOURCE_ROOT BUILD_DIRECTORY
#
# The Debian packages that `make deb` makes, put into a root directory of their own by dpkg: what is
# in them works from there, is what the package says, and goes away again without a trace.
. "${0%/*}/../tap.sh"
. "${0%/*}/root.sh"
source=$1
build=$2
abi=$("$source/tools/version" --abi)
root=$work/root
unset LK_STORE LK_OWNER MAKEFLAGS
XDG_STATE_HOME=$work/state
PATH=$PATH:/usr/sbin:/sbin # dpkg wants ldconfig there
# What is tried is the package, not what the compiler makes of it: without optimization it takes a
# third of the time.
DEB_CFLAGS_APPEND=-O0
INSTALL=no # other tests use what an installation would replace
export XDG_STATE_HOME PATH DEB_CFLAGS_APPEND INSTALL

make_packages() {
    "$source/tools/deb" "$build" >"$work/out" 2>"$work/err" || return 1
    tail -n 4 "$work/out" >"$work/files"
    package=$(named lockkeeper)
    library=$(named "liblockkeeper$abi")
    development=$(named liblockkeeper-dev)
    python=$(named python3-lockkeeper)
    [ -f "$package" ] && [ -f "$library" ] && [ -f "$development" ] && [ -f "$python" ]
}

named() {
    grep "/$1_[^/]*\.deb\$" "$work/files"
}

sums() {
    xargs md5sum <"$work/files"
}

is_same_again() {
    sums >"$work/first"
    make_packages && sums | cmp - "$work/first"
}

# With what all four need of the system, and nothing of Lockkeeper's.
install_it() {
    root_begin "$root" "$package" "$library" "$development" "$python"
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

field() { # NAME PATTERN [FILE]: what the package says of itself
    dpkg-deb --field "${3-$package}" "$1" | grep -E -- "$2"
}

has_no_needless() {
    for file in "$package" "$library"; do
        ! field Depends 'libhiredis|libmariadb|libpq|libnghttp2|libssl|lockkeeper' "$file" &&
            ! field Recommends libhiredis "$file" || return 1
    done
    ! field Recommends 'libncurses|libnghttp2|libevent' "$library"
}

# hiredis, which is part of what is packed.
has_licence() {
    for name in lockkeeper "liblockkeeper$abi" liblockkeeper-dev; do
        in_root --listfiles "$name" | grep "/doc/$name/copyright\$" &&
            grep -q 'Salvatore Sanfilippo' "$root/usr/share/doc/$name/copyright" || return 1
    done
}

belongs_to_root() {
    while read -r file; do
        ! dpkg-deb --contents "$file" | grep -v ' root/root ' || return 1
    done <"$work/files"
}

has() { # PACKAGE PATTERN...
    in_root --listfiles "$1" >"$work/list" && shift || return 1
    for pattern in "$@"; do
        grep -qE -- "$pattern" "$work/list" || {
            echo "no $pattern"
            return 1
        }
    done
}

has_files() {
    has lockkeeper '/usr/bin/lk$' '/man1/lk-run\.1\.gz$' '/man5/lockkeeper\.conf\.5\.gz$' \
        '/etc/lockkeeper\.conf$' '/lib/systemd/system/lockkeeper(-ha)?\.service$' '/share/lockkeeper/network\.conf$' \
        '/bash-completion/completions/lk' '/zsh/vendor-completions/_lk$' '/doc/lockkeeper/copyright$' \
        '/doc/lockkeeper/README\.md$' '/doc/lockkeeper/docs/rules\.md$' '/doc/lockkeeper/docs/guides/cron\.md$' '/doc/lockkeeper/docs/openapi\.json$' \
        '/doc/lockkeeper/docs/pictures/show\.svg$' '/doc/lockkeeper/examples/mutex\.c$' &&
        ! grep -E '/usr/include|/usr/lib/.*\.(so|a|pc)|/man3/|/dist-packages' "$work/list"
}

others_have_files() {
    has "liblockkeeper$abi" "/lib/[^/]*/liblockkeeper\\.so\\.$abi\$" "/lib/[^/]*/liblockkeeper-canal\\.so\\.$abi\$" &&
        ! grep -E '\.(so|a|pc|h)$' "$work/list" &&
        has liblockkeeper-dev '/lib/[^/]*/liblockkeeper\.so$' '/lib/[^/]*/liblockkeeper\.a$' '/lib/[^/]*/liblockkeeper-canal\.a$' \
            '/usr/include/lockkeeper/lockkeeper\.h$' '/usr/include/lockkeeper/canal\.h$' '/[^/]*/pkgconfig/lockkeeper\.pc$' \
            '/pkgconfig/lockkeeper-canal\.pc$' '/man3/liblockkeeper\.3\.gz$' &&
        has python3-lockkeeper '/usr/lib/python3/dist-packages/lockkeeper/__init__\.py$' '/lockkeeper/py\.typed$' \
            '/doc/python3-lockkeeper/README\.md$' && field Architecture '^all$' "$python"
}

# What the pages of the package link to is in the package.
has_no_broken_links() {
    (cd "$root/usr/share/doc" && find . -name '*.md' | while read -r page; do
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

# The others, after the program.
install_others() {
    in_root --install "$library" "$development" "$python" && libraries=$(dirname "$(find "$root/usr/lib" -name liblockkeeper.so)")
}

compiles() ( # its environment is no other case's
    # Nothing but these packages: no development package of a library beneath them is asked for.
    PKG_CONFIG_LIBDIR=$libraries/pkgconfig
    PKG_CONFIG_SYSROOT_DIR=$root
    PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1
    PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
    export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_ALLOW_SYSTEM_CFLAGS
    export PKG_CONFIG_ALLOW_SYSTEM_LIBS
    # shellcheck disable=SC2046 # a list of options
    cc -Wall -Wextra $("$source/tools/tried" -Werror cc) "$source/examples/mutex.c" -o "$work/mutex" \
        $(pkg-config --cflags --libs lockkeeper) &&
        LD_LIBRARY_PATH=$libraries "$work/mutex"
)

compiles_static() {
    cc "$source/examples/mutex.c" -I"$root/usr/include" -o "$work/static" "$libraries/liblockkeeper.a" \
        -lsqlite3 -ldl -pthread && ! readelf -d "$work/static" | grep 'NEEDED.*liblockkeeper' && "$work/static"
}

python_locks() (
    unset LK_LIBRARY PYTHONDONTWRITEBYTECODE
    cd "$work" && PYTHONPATH=$root/usr/lib/python3/dist-packages LD_LIBRARY_PATH=$libraries /usr/bin/python3 -c '
import importlib.metadata, sys
import lockkeeper
with lockkeeper.open() as store, store.lock("a") as lease:
    assert lease.token > 0
assert sys.argv[1] + "/liblockkeeper.so" in open("/proc/self/maps").read()
assert importlib.metadata.version("liblockkeeper") == sys.argv[2]' "$libraries" "$("$source/tools/version")"
)

# A link that is broken, or leads to a soname that the package does not have, is found by following.
has_soname() {
    for name in liblockkeeper liblockkeeper-canal; do
        soname=$(objdump -p "$libraries/$name.so" | sed -n 's/^ *SONAME *//p')
        [ "$soname" = "$name.so.$abi" ] && [ -e "$libraries/$soname" ] && dpkg-deb --ctrl-tarfile "$library" |
            tar -xO ./shlibs | grep -x "$name $abi liblockkeeper$abi (>= .*)" || return 1
    done
}

# ---- what does not go together ----

# Each in a root directory of its own, with what all of them need of the system.
refuses_to_install() ( # WORDS FILE...
    words=$1
    shift
    root=$(mktemp -d "$work/wrong.XXXXXX")
    root_begin "$root" "$package" "$library" "$development" "$python"
    ! in_root --install "$@" >"$work/err" 2>&1 && tr '\n' ' ' <"$work/err" | grep -E "$words"
)

refuses_without_library() {
    refuses_to_install "depends on liblockkeeper$abi \(= .*not installed" "$development" &&
        refuses_to_install "depends on liblockkeeper$abi \(>= .*not installed" "$python"
}

refuses_other_version() {
    dpkg-deb --raw-extract "$library" "$work/older" && sed -i 's/^Version: .*/Version: 0.0.9/' "$work/older/DEBIAN/control" &&
        dpkg-deb --root-owner-group --build "$work/older" "$work/older.deb" &&
        refuses_to_install "depends on liblockkeeper$abi \(= .*[Vv]ersion of liblockkeeper$abi.* is 0.0.9" "$work/older.deb" "$development" &&
        refuses_to_install "depends on liblockkeeper$abi \(>= .*[Vv]ersion of liblockkeeper$abi.* is 0.0.9" "$work/older.deb" "$python"
}

keeps_the_library() { # while others need it
    ! in_root --remove "liblockkeeper$abi" 2>"$work/err" && grep 'python3-lockkeeper depends on' "$work/err"
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
    ! (root=$work/taken && in_root --force-depends --install "$package" 2>"$work/err") && grep "lk is there and is not Lockkeeper's" "$work/err" &&
        [ "$(cat "$work/taken/usr/bin/lk")" = stranger ]
}

has_other_name() {
    "$source/tools/deb" "$build" lockkeeper >"$work/out" 2>"$work/err" || return 1
    tail -n 4 "$work/out" >"$work/files"
    dpkg-deb --contents "$(named lockkeeper)" >"$work/list"
    for file in bin/lockkeeper man1/lockkeeper.1.gz man1/lockkeeper-run.1.gz man7/lockkeeper-stores.7.gz \
        completions/lockkeeper.bash vendor-completions/_lockkeeper vendor_completions.d/lockkeeper.fish; do
        grep -qE "/$file\$" "$work/list" || { echo "no $file"; return 1; }
    done
    ! grep -E '/_?lk([-.][^/]*)?$' "$work/list"
}

# What Python has written beside the modules, too.
remove_others() {
    find "$root/usr/lib" -name '*.pyc' | grep -q . && in_root --remove python3-lockkeeper liblockkeeper-dev "liblockkeeper$abi" &&
        ! find "$root/usr" | grep -E 'python3|\.so|\.a$|include'
}

purge_it() {
    in_root --purge lockkeeper && ! ls -d "$root/var/lib/lockkeeper" "$root/etc/lockkeeper.conf"
}

remove_it() {
    in_root --remove lockkeeper && ! find "$root/usr" -type f -o -type l | grep .
}

ok "the packages are made" make_packages
[ "$failures" -eq 0 ] || finish
ok "the same tree makes the same packages" is_same_again
ok "it has the version of the header" field Version "^$("$source/tools/version")\$"
ok "it needs the libraries that it uses" field Depends 'libsqlite3-0'
ok "it recommends those that it loads" field Recommends 'libmariadb3.*libnghttp2-14.*libpq5 \(>= '
ok "so does the library" field Recommends 'libmariadb3.*libpq5 \(>= ' "$library"
ok "and does not need them" has_no_needless
ok "it names the library that is part of it" field Static-Built-Using '^hiredis \(= [0-9]'
ok "the maintainer field is set" field Maintainer \
    '^Lockkeeper maintainers <maintainers@lockkeeper\.invalid>$'
ok "its files belong to root" belongs_to_root
ok "dpkg installs it" install_it
ok "it says what comes next" says_what_next
ok "what belongs to it is there" has_files
ok "systemd finds its units" units_are_found
ok "alone, its lk takes and gives locks" locks
ok "what needs the library is not configured without it" refuses_without_library
ok "nor with one of another version" refuses_other_version
ok "dpkg installs the others" install_others
ok "what belongs to them is there" others_have_files
ok "with the licence of the library that is part of them" has_licence
ok "the files are as they were packed" in_root --verify
ok "the library is the one that programs will ask for" has_soname
ok "they name no directory of the machine that made them" says_nothing_of_here
ok "their pages link to what is there" has_no_broken_links
ok "a program compiles against the library and runs" compiles
ok "one with the static library does" compiles_static
ok "Python takes a lock" python_locks
ok "the library stays while another package needs it" keeps_the_library
ok "the user of a service is made as the page says" makes_the_user
ok "the store of the group is there, empty" has_shared_store
ok "the configuration file names it in a comment" names_no_store
ok "the files of that store are the group's" is_used_by_the_group
ok "dpkg removes the others without a trace" remove_others
ok "and the program" remove_it
ok "a program of the name that is another's stays" refuses
ok "purging removes the store and its configuration" purge_it
ok "a package has the program under another name" has_other_name
finish
