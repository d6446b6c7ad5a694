#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: package.sh SOURCE_ROOT LIBRARY HEADERS
#
# The package as users install it: by npm, which compiles it, without a network. HEADERS: the folder with
# include/node.
set -e
. "${0%/*}/../../tap.sh"
source=$1
library=$2
headers=$3
unset LK_NODE_ADDON LK_NODE_PACKAGE
export HOME="$work" # npm keeps what it has seen there

mkdir "$work/lib" "$work/app"
cp -R "$source/bindings/node" "$work/node" # it compiles there
cp "$library" "$work/lib/liblockkeeper.so.0"
ln -s liblockkeeper.so.0 "$work/lib/liblockkeeper.so"
cat >"$work/lib/lockkeeper.pc" <<END_OF_FILE
Name: lockkeeper
Description: as installed
Version: 0
Cflags: -I$source/include
Libs: -L$work/lib -llockkeeper
END_OF_FILE
export PKG_CONFIG_PATH="$work/lib" LD_LIBRARY_PATH="$work/lib"
echo '{"name": "app", "private": true}' >"$work/app/package.json"
ok "npm install" sh -c "cd '$work/app' && npm install --offline --no-audit --no-fund --install-links=false \
    --nodedir='$headers' ../node"
cat >"$work/app/program.js" <<'END_OF_PROGRAM'
const lockkeeper = require('lockkeeper');
lockkeeper.open('mem:').then((store) => store.with('t', async (lease) => {
    console.log(lockkeeper.version, lease.token > 0n);
}));
END_OF_PROGRAM
ok "a program uses it" sh -c "cd '$work/app' && node program.js >'$work/out'"
ok "it has the version of the library" grep -qx "$("$source/tools/version") true" "$work/out"
finish
