// SPDX-License-Identifier: Apache-2.0
'use strict';
// The module in C: what the package brings for this machine, or what npm has built, or what LK_NODE_ADDON names.
const fs = require('node:fs');
const path = require('node:path');
const {version} = require('../package.json');

const root = path.join(__dirname, '..');
const brought = path.join(root, 'prebuilt', `${process.platform}-${process.arch}`, 'lockkeeper.node');
const file = process.env.LK_NODE_ADDON
    ?? (fs.existsSync(brought) ? brought : path.join(root, 'build', 'Release', 'lockkeeper.node'));

function load() {
    try {
        return require(file);
    } catch (error) {
        const ways = {
            ERR_DLOPEN_FAILED: "install Lockkeeper's library (make install), and let the linker find it "
                + '(ldconfig, as root; or LD_LIBRARY_PATH)',
            MODULE_NOT_FOUND: 'npm compiles it (npm rebuild lockkeeper), or LK_NODE_ADDON names it',
        };
        if (!(error.code in ways)) {
            throw error;
        }
        const [what] = error.message.split('\n'); // without the stack of those who wanted it
        throw Object.assign(new Error(`${what}; ${ways[error.code]}`, {cause: error}), {code: error.code});
    }
}

const native = load();

// Before 1.0 structs change with the minor version.
const compatible = (text) => text.split('.').slice(0, 2).join('.');
for (const other of [native.version, native.headerVersion]) {
    if (compatible(other) !== compatible(version)) {
        throw new Error(`lockkeeper ${version} does not fit liblockkeeper ${other}`);
    }
}

// Leases, works: by the numbers with which the module tells of losses and items.
const listeners = new Map();
let last = 0;

function nextNumber() {
    last += 1;
    return last;
}

// The listener may be collected: the module's news hold nothing.
function listen(number, listener) {
    listeners.set(number, new WeakRef(listener));
}

function unlisten(number) {
    listeners.delete(number);
}

native.onNotice((news) => listeners.get(news.number)?.deref()?._hear(news));
// process.exit() runs no clean-up of modules: ends waits, and closes what is open.
process.on('exit', () => native.end());

module.exports = {native, nextNumber, listen, unlisten};
