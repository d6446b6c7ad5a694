#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: dist.sh SOURCE_ROOT
#
# What `make dist` writes for x86-64: each file is put where nothing else is, and takes a lock there. The
# portable program runs with the C library of Debian 11, the static one in a root directory that has
# nothing but it. Needs the network of the archive the first time (build-dist-test is kept), as tools/dist/run
# does. Compiled without optimization: what is tried is what is in the files.
. "${0%/*}/../tap.sh"
. "${0%/*}/root.sh"
source=$1
made=$work/dist
unset LK_STORE LK_OWNER LK_LIBRARY LK_NODE_ADDON LD_LIBRARY_PATH MAKEFLAGS PKG_CONFIG_PATH
HOME=$work/home
PATH=$PATH:/usr/sbin:/sbin # dpkg wants ldconfig there
export INSTALL=no # other tests use what an installation would replace
export HOME PATH LK_DIST_OPTIMIZATION=0 LK_DIST_WORK=build-dist-test
mkdir -p "$HOME"
version=$("$source/tools/version")
portable=$work/lockkeeper-$version-linux-x86_64
old=$source/build-dist-test/gnu-x86_64/root # what Debian 11 has

make_it() {
    "$source/tools/dist/run" "$made" gnu-x86_64 musl-x86_64
}

sums_hold() {
    (cd "$made" && sha256sum --quiet -c SHA256SUMS && [ "$(wc -l <SHA256SUMS)" -eq "$(find . -type f ! -name SHA256SUMS | wc -l)" ])
}

is_same_again() {
    mv "$made" "$work/first" && make_it && diff -r "$work/first" "$made"
}

bill_is_whole() {
    python3 - "$made/lockkeeper-$version.spdx.json" "$made" <<'END'
import hashlib, json, os, sys
with open(sys.argv[1], encoding="utf-8") as file:
    bill = json.load(file)
assert bill["spdxVersion"] == "SPDX-2.3"
known = {element["SPDXID"] for kind in ("packages", "files") for element in bill[kind]} | {"SPDXRef-DOCUMENT"}
for relation in bill["relationships"]:
    assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= known, relation
for file in bill["files"]:
    with open(os.path.join(sys.argv[2], file["fileName"]), "rb") as content:
        assert file["checksums"][1]["checksumValue"] == hashlib.sha256(content.read()).hexdigest()
linked = {(r["spdxElementId"], r["relatedSpdxElement"]) for r in bill["relationships"] if r["relationshipType"] == "STATIC_LINK"}
assert len([end for _, end in linked if end == "SPDXRef-sqlite3"]) == 7, linked # tarball, static, wheel, npm, jar, debs
END
}

# ---- the static program ----

with_nothing() { # COMMAND...: in a root directory of its own, with /proc
    # shellcheck disable=SC2016 # for that shell
    unshare --user --map-root-user --mount --pid --fork sh -c '
        mount -t proc none "$1/proc" && mount -t tmpfs none "$1/dev" && mkdir "$1/dev/shm" && root=$1 && shift &&
        exec env -i HOME=/ /usr/sbin/chroot "$root" "$@"' sh "$work/empty" "$@"
}

has_static() {
    mkdir -p "$work/empty/proc" "$work/empty/dev" &&
        cp "$made/lk-$version-static-x86_64" "$work/empty/lk" &&
        ! readelf -d "$work/empty/lk" | grep -q NEEDED
}

static_serves() {
    # shellcheck disable=SC2016 # for that shell
    unshare --user --map-root-user --mount --pid --fork sh -c '
        mount -t proc none "$1/proc"
        env -i HOME=/ /usr/sbin/chroot "$1" /lk serve --dir /service --listen none --http none --unix /socket &
        tries=0
        until env -i HOME=/ /usr/sbin/chroot "$1" /lk -S lk+unix:/socket run a -- /lk version; do
            tries=$((tries + 1))
            [ $tries -lt 50 ] || exit 1
            sleep 0.1
        done' sh "$work/empty"
}

says_unsupported() { # STORE WORDS
    with_nothing /lk -S "$1" ls >"$work/out" 2>"$work/err"
    [ $? -eq 79 ] && grep -q "$2" "$work/err"
}

# ---- the tarball ----

unpack() {
    tar -xzf "$made/lockkeeper-$version-linux-x86_64.tar.gz" -C "$work" && [ -x "$portable/bin/lk" ]
}

needs_only_glibc() {
    for file in "$portable/bin/lk" "$portable"/lib/liblockkeeper*.so.*.*.*; do
        readelf -d "$file" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
            grep -vx -e 'libc\.so\.6' -e 'libpthread\.so\.0' -e 'libdl\.so\.2' -e 'ld-linux.*' -e 'libm\.so\.6' && return 1
        newest=$(objdump -T "$file" | grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -n 1)
        echo "$file: $newest"
        [ "${newest#GLIBC_2.}" -le 31 ] || return 1
    done
}

with_old_glibc() { # COMMAND...
    "$old/lib64/ld-linux-x86-64.so.2" --library-path "$old/lib/x86_64-linux-gnu" "$@"
}

compiles_and_runs() {
    cat >"$work/program.c" <<'END'
#include <lockkeeper/lockkeeper.h>

int main(void) {
    const char *parts[] = {"a"};
    lk_request request = lk_request_init(parts, 1);
    lk_store *store;
    lk_lease *lease;

    if (lk_open("mem:", &store, NULL) != LK_OK || lk_acquire(store, &request, &lease, NULL, NULL) != LK_GRANTED) {
        return 1;
    }
    (void)lk_lease_release(lease, NULL);
    lk_close(store);
    return 0;
}
END
    # shellcheck disable=SC2046 # a list of options
    cc "$work/program.c" $(PKG_CONFIG_PATH=$portable/lib/pkgconfig pkg-config --cflags --libs lockkeeper) \
        -o "$work/program" && "$work/program"
}

# OpenSSL is the system's; libevent is its own.
serves_tls() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost -keyout "$work/key" -out "$work/certificate" 2>/dev/null
    chmod 600 "$work/key"
    "$portable/bin/lk" serve --dir "$work/service" --listen 127.0.0.1:0 --http 127.0.0.1:0 --insecure \
        --tls-cert "$work/certificate" --tls-key "$work/key" >"$work/served" 2>&1 &
    service=$!
    tries=0
    until grep -q https: "$work/served" || [ $tries -ge 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    cat "$work/served"
    port=$(sed -n 's|.*https://127.0.0.1:\([0-9]*\).*|\1|p' "$work/served" | head -n 1)
    curl -sS --cacert "$work/certificate" "https://localhost:$port/v1/acquire" -H 'Content-Type: application/json' -d '{"parts": ["a"]}' >"$work/out"
    kill $service
    wait $service
    grep -q token "$work/out"
}

# ---- the bindings' packages ----

wheel_locks() {
    /usr/bin/python3 -m pip -q install --no-index --no-deps --target "$work/python" \
        "$made/liblockkeeper-$version-py3-none-manylinux_2_31_x86_64.whl" &&
        PYTHONPATH=$work/python /usr/bin/python3 -c '
import lockkeeper
with lockkeeper.open("mem:") as store, store.lock("a") as lease:
    assert lease.token > 0
maps = open("/proc/self/maps").read()
assert "/python/lockkeeper/liblockkeeper.so" in maps, maps'
}

npm_locks() {
    mkdir -p "$work/node" && cd "$work/node" && echo '{"private": true}' >package.json &&
        npm install --offline --no-audit --no-fund "$made/lockkeeper-$version-npm.tgz" &&
        node -e '
require("lockkeeper").open("mem:").then((store) => store.with("a", async (lease) => {
    require("node:assert")(lease.token > 0n && require("node:fs").readFileSync("/proc/self/maps", "utf8")
        .includes("/prebuilt/linux-x64/liblockkeeper.so"));
}));'
}

jar_locks() {
    mkdir -p "$work/java" && cat >"$work/java/First.java" <<'END'
public class First {
    public static void main(String[] arguments) throws Exception {
        try (var store = io.lockkeeper.Store.open("mem:"); var lease = store.acquire("a").await()) {
            if (lease.token() == 0) {
                throw new AssertionError();
            }
        }
    }
}
END
    path=$made/lockkeeper-$version.jar:/usr/share/java/jna.jar
    javac -cp "$path" -d "$work/java" "$work/java/First.java" && java -cp "$path:$work/java" First
}

# It is compiled against the library of the tarball.
rock_locks() {
    (cd "$work" && luarocks --lua-version 5.4 --tree "$work/rocks" install "$made/lockkeeper-$version-1.src.rock" \
        LOCKKEEPER_DIR="$portable") && cat >"$work/first.lua" <<'END'
local lk = require "lockkeeper"
local store <close> = lk.open("mem:")
local lease <close> = store:lock("a")
assert(lease.token > 0)
END
    LUA_CPATH="$work/rocks/lib/lua/5.4/?.so" LD_LIBRARY_PATH=$portable/lib lua5.4 "$work/first.lua"
}

# Its form is that of https://github.com/hexpm/specifications, package_tarball.md.
hex_is_whole() {
    cd "$work" && HEX=$made/lockkeeper_canal-$version.tar VERSION=$version erl -noshell -eval '
        {ok, Files} = erl_tar:extract(os:getenv("HEX"), [memory]),
        ["VERSION", "CHECKSUM", "metadata.config", "contents.tar.gz"] = [Name || {Name, _} <- Files],
        [<<"3">>, Sum, Metadata, Packed] = [Content || {_, Content} <- Files],
        Sum = binary:encode_hex(crypto:hash(sha256, [<<"3">>, Metadata, Packed])),
        ok = file:write_file("metadata", Metadata),
        {ok, Terms} = file:consult("metadata"),
        Said = fun(Key) -> proplists:get_value(Key, Terms) end,
        [<<"lockkeeper_canal">>, <<"lockkeeper_canal">>, [<<"Apache-2.0">>], []] =
            [Said(Key) || Key <- [<<"name">>, <<"app">>, <<"licenses">>, <<"requirements">>]],
        true = Said(<<"version">>) =:= list_to_binary(os:getenv("VERSION")),
        {ok, Contents} = erl_tar:extract({binary, Packed}, [memory, compressed]),
        true = lists:sort(Said(<<"files">>)) =:= lists:sort([list_to_binary(Name) || {Name, _} <- Contents]),
        ok = erl_tar:extract({binary, Packed}, [compressed, {cwd, "lockkeeper_canal"}]),
        halt(0).'
}

hex_compiles_and_counts() {
    cd "$work/lockkeeper_canal" && PKG_CONFIG_PATH=$portable/lib/pkgconfig make -C c_src && mkdir -p ebin && erlc -o ebin src/*.erl &&
        cp src/lockkeeper_canal.app.src ebin/lockkeeper_canal.app && REGION=dist-$$ erl -noshell -pa ebin -eval '
        Name = list_to_binary(os:getenv("REGION")),
        ok = lockkeeper_canal:start(Name),
        [{acquired, 1}, full] = [lockkeeper_canal:acquire(key, 1, 1) || _ <- [1, 2]],
        ok = lockkeeper_canal:release(key),
        ok = lockkeeper_canal:stop(),
        ok = lockkeeper_canal:remove(Name),
        halt(0).'
}

# ---- Debian's packages: of the system they have glibc 2.31, and what makes a group ----

debs() { # PACKAGE...
    for name in "$@"; do
        for file in "$made/${name}_${version}_amd64.deb" "$made/${name}_${version}_all.deb"; do
            [ ! -f "$file" ] || echo "$file"
        done
    done
}

debs_are_installed() {
    root=$work/root
    library=liblockkeeper$("$source/tools/version" --abi)
    # shellcheck disable=SC2046 # lists of files
    root_begin "$root" $(debs lockkeeper "$library" liblockkeeper-dev python3-lockkeeper) &&
        grep -A 4 '^Package: libc6$' "$root/var/lib/dpkg/status" | grep '^Version: 2\.31$' &&
        in_root --install $(debs lockkeeper) && [ "$(in_root --listfiles "$library" 2>/dev/null)" = '' ] &&
        in_root --install $(debs "$library" liblockkeeper-dev python3-lockkeeper) && in_root --verify &&
        [ "$(grep -c '^Package: .*lockkeeper' "$root/var/lib/dpkg/status")" -eq 4 ]
}

deb_has_licences() {
    for words in 'Salvatore Sanfilippo' 'Petri Lehtinen' 'Niels Provos'; do
        grep -q "$words" "$root/usr/share/doc/lockkeeper/copyright" || return 1
    done
    grep -q 'contains SQLite' "$root/usr/share/doc/$library/copyright" || return 1
    dpkg-deb --field "$(debs lockkeeper)" Static-Built-Using | grep 'hiredis (= .*jansson (= .*libevent (= .*sqlite3 (= '
}

deb_locks() {
    with_old_glibc "$root/usr/bin/lk" -S "sqlite:$work/deb.db" run a -- true
}

deb_compiles() (
    folder=$root/usr/lib/x86_64-linux-gnu
    PKG_CONFIG_LIBDIR=$folder/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
    export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_ALLOW_SYSTEM_CFLAGS PKG_CONFIG_ALLOW_SYSTEM_LIBS
    # shellcheck disable=SC2046 # a list of options
    cc "$work/program.c" $(pkg-config --cflags --libs lockkeeper) -o "$work/program" &&
        LD_LIBRARY_PATH=$folder "$work/program" && ! grep rpath "$folder/pkgconfig"/*.pc
)

deb_locks_in_python() {
    cd "$work" && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$root/usr/lib/python3/dist-packages \
        LD_LIBRARY_PATH=$root/usr/lib/x86_64-linux-gnu /usr/bin/python3 -c '
import lockkeeper
with lockkeeper.open("mem:") as store, store.lock("a") as lease:
    assert lease.token > 0'
}

source_is_whole() {
    tar -tzf "$made/lockkeeper-$version.tar.gz" >"$work/out" && grep -qx "lockkeeper-$version/meson.build" "$work/out"
}

ok "it is made" make_it
ok "the sums are those of all files" sums_hold
ok "the bill of materials names each file, and what is linked into it" bill_is_whole
ok "the static program needs no library" has_static
ok "in an empty root it holds a lock" with_nothing /lk -S sqlite:/locks.db run a -- /lk version
ok "it serves there, and is its client" static_serves
ok "it says that it has no PostgreSQL" says_unsupported postgresql://x/y 'no engine for postgresql:'
ok "it says that it has no TLS" says_unsupported lks://x TLS
ok "the portable program is unpacked" unpack
ok "it needs glibc 2.31 at most, and nothing else" needs_only_glibc
ok "it holds a lock with glibc 2.31" with_old_glibc "$portable/bin/lk" -S "sqlite:$work/old.db" run a -- true
ok "it serves HTTPS by the OpenSSL that is here" serves_tls
ok "pkg-config finds the library, and the program does" compiles_and_runs
ok "the wheel brings the library" wheel_locks
ok "the package of npm brings the library" npm_locks
ok "the jar brings the library" jar_locks
ok "LuaRocks installs the rock, which holds a lock" rock_locks
ok "the package of Hex has the sum and the files that it names" hex_is_whole
ok "it is compiled, and counts" hex_compiles_and_counts
ok "dpkg installs the packages of Debian where glibc is 2.31" debs_are_installed
ok "they have the licences of what is linked into them" deb_has_licences
ok "their program holds a lock with glibc 2.31" deb_locks
ok "a program compiles against their library, and holds one" deb_compiles
ok "their Python holds one" deb_locks_in_python
ok "the source is in it" source_is_whole
ok "made again it is the same" is_same_again
finish
