#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: rock.sh SOURCE_ROOT LUA LIBRARY
#
# The module as users install it: by LuaRocks, without a network, into a tree of its own.
set -e
. "${0%/*}/../../tap.sh"
source=$1
lua=$2
library=$3
unset LUA_PATH LUA_CPATH LD_LIBRARY_PATH
export HOME="$work" # LuaRocks keeps what it has seen there

cp -R "$source/bindings/lua" "$work/lua" # it compiles there
mkdir "$work/lib"
soname=liblockkeeper.so.$("$source/tools/version" --abi)
cp "$library" "$work/lib/$soname"
ln -s "$soname" "$work/lib/liblockkeeper.so"
ok "luarocks make" sh -c "cd '$work/lua' && luarocks --lua-version 5.4 --tree '$work/tree' make \
    LOCKKEEPER_INCDIR='$source/include' LOCKKEEPER_LIBDIR='$work/lib'"
cat >"$work/program.lua" <<'END_OF_PROGRAM'
local lk = require "lockkeeper"
local store = lk.open("mem:")
local lease <close> = store:lock("t")
print(lk.version, lease.token > 0)
END_OF_PROGRAM
export LUA_CPATH="$work/tree/lib/lua/5.4/?.so"
ok "a program uses it, also while its state ends" sh -c "'$lua' '$work/program.lua' >'$work/out'"
ok "it has the version of the library" grep -qx "$("$source/tools/version")	true" "$work/out"
ok "the licence is in it" sh -c "find '$work/tree' -name LICENSE -exec cmp '$source/LICENSE' {} + -print | grep ."
finish
