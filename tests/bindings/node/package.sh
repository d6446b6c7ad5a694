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
cp -R "$source/bindings/node" "$work/node"
soname=liblockkeeper.so.$("$source/tools/version" --abi)
cp "$library" "$work/lib/$soname"
ln -s "$soname" "$work/lib/liblockkeeper.so"
cat >"$work/lib/lockkeeper.pc" <<END_OF_FILE
libdir=$work/lib
Name: lockkeeper
Description: as installed
Version: 0
Cflags: -I$source/include
Libs: -L$work/lib -llockkeeper
END_OF_FILE
export PKG_CONFIG_PATH="$work/lib"
unset LD_LIBRARY_PATH # where a linker does not look by itself
echo '{"name": "app", "private": true}' >"$work/app/package.json"
ok "npm pack" sh -c "cd '$work/app' && npm pack ../node"
rm -rf "$work/node" # what is installed needs the source tree no more
ok "npm install" sh -c "cd '$work/app' && npm install --offline --no-audit --no-fund \
    --nodedir='$headers' ./lockkeeper-$("$source/tools/version").tgz"
cat >"$work/app/program.js" <<'END_OF_PROGRAM'
const lockkeeper = require('lockkeeper');
lockkeeper.open('mem:').then((store) => store.with('t', async (lease) => {
    console.log(lockkeeper.version, lease.token > 0n);
}));
END_OF_PROGRAM
ok "a program uses it" sh -c "cd '$work/app' && node program.js >'$work/out'"
ok "it has the version of the library" grep -qx "$("$source/tools/version") true" "$work/out"
cat >"$work/app/types.mjs" <<'END_OF_PROGRAM'
// What import and require() get has types of its own kind, with the names that are there.
import assert from 'node:assert';
import {readFileSync} from 'node:fs';
import * as imported from 'lockkeeper';
import lockkeeper from 'lockkeeper';

const folder = new URL('node_modules/lockkeeper/', import.meta.url);
const {exports} = JSON.parse(readFileSync(new URL('package.json', folder)));
for (const [condition, ending] of [['import', '.mjs'], ['require', '.js']]) {
    const files = exports['.'][condition];
    assert.deepStrictEqual(Object.keys(files), ['types', 'default']); // the first that is known counts
    assert.ok(files.default.endsWith(ending));
    assert.ok(files.types.endsWith(ending.replace('.', '.d.').replace('js', 'ts')));
    readFileSync(new URL(files.types, folder));
}
const declared = [...readFileSync(new URL('index.d.ts', folder), 'utf8')
    .matchAll(/^export (?:class|function|const) (\w+)/gm)].map((found) => found[1]).sort();
assert.deepStrictEqual(Object.keys(lockkeeper).sort(), declared);
assert.deepStrictEqual(Object.keys(imported).sort(), [...declared, 'default'].sort());
END_OF_PROGRAM
ok "import and require() have types" sh -c "cd '$work/app' && node types.mjs"
ok "the licence is in it" cmp "$source/LICENSE" "$work/app/node_modules/lockkeeper/LICENSE"
mv "$work/lib" "$work/elsewhere"
ok "a library that is not there is an error that says what to do" sh -c "cd '$work/app' && ! node program.js 2>said &&
    grep -q '$soname: cannot open.*make install.*ldconfig.*LD_LIBRARY_PATH' said"
ok "and so is a module that is not there" sh -c "cd '$work/app' && ! LK_NODE_ADDON=/nonexistent node program.js 2>said &&
    grep -q '/nonexistent.*npm rebuild' said"
finish
