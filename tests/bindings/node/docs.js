// SPDX-License-Identifier: Apache-2.0
'use strict';
// usage: docs.js FOLDER LK VERSION: each example of the binding's page, run as it is printed; the example
// program; the package beside what it describes. FOLDER: bindings/node.
const assert = require('node:assert/strict');
const {spawnSync} = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const [folder, program, version] = process.argv.slice(2);
const lk = path.resolve(program); // the examples run elsewhere

// For each example in the page's order: what it prints.
const PRINTED = [
    /^token \d+n\n$/,
    /^backs up\nTimeoutError test\n$/,
    /^makes reports\n$/,
    /^$/,
    /^18\n$/,
    /^sends 4711 to: ana\n$/,
    /^\{ added: false, changed: true, was: 'ready' \}\n$/,
    /^7\n$/,
    /^has sent 4713 to: bob\n$/,
    /^granted\nreleased\n$/,
];

const place = fs.mkdtempSync(path.join(os.tmpdir(), 'lk-node-docs-'));
const env = {...process.env, LK_STORE: `sqlite:${place}/locks.db`, LK_DRAIN: '1'};
fs.mkdirSync(path.join(place, 'node_modules'));
fs.symlinkSync(folder, path.join(place, 'node_modules', 'lockkeeper'));

function run(...words) {
    const ended = spawnSync(words[0], words.slice(1), {cwd: place, env, encoding: 'utf8'});
    assert.equal(ended.status, 0, ended.stderr);
    return ended.stdout;
}

let count = 0;
let failed = 0;

function test(name, body) {
    count += 1;
    try {
        body();
        console.log(`ok ${count} - ${name}`);
    } catch (error) {
        failed += 1;
        console.log(`not ok ${count} - ${name}`);
        console.log(String(error.stack).replace(/^/gm, '# '));
    }
}

const page = fs.readFileSync(path.join(folder, 'README.md'), 'utf8');
const examples = [...page.matchAll(/\n```js\n(.*?)\n```\n/gs)].map(([, source]) => source);
test('the page has as many examples as are listed here', () => assert.equal(examples.length, PRINTED.length));
examples.forEach((source, i) => test(`example ${i + 1}`, () => {
    fs.writeFileSync(path.join(place, 'example.js'), source);
    const inTheWay = source.includes('host/reset'); // a test, for the reset
    if (inTheWay) {
        run(lk, 'acquire', 'mydatabase/mytest', '--owner', 'test');
    }
    assert.match(run(process.execPath, 'example.js'), PRINTED[i]);
    if (inTheWay) {
        run(lk, 'release', 'mydatabase/mytest', '--owner', 'test');
    }
}));

test('the example program works on a queue', () => {
    run(lk, 'push', 'mails', 'a', 'one');
    run(lk, 'push', 'mails', 'b', 'two');
    fs.copyFileSync(path.join(folder, 'examples', 'worker.js'), path.join(place, 'worker.js'));
    assert.equal(run(process.execPath, 'worker.js', 'mails'), 'a: one \nb: two \n');
});

test('an ES module imports it by names', () => {
    fs.writeFileSync(path.join(place, 'example.mjs'), `
        import lockkeeper, {open, BusyError} from 'lockkeeper';
        import * as all from 'lockkeeper';
        const store = await open();
        await store.with('t', async () => undefined);
        await store.close();
        console.log(BusyError === lockkeeper.BusyError,
            Object.keys(lockkeeper).every((name) => all[name] === lockkeeper[name]));`);
    assert.equal(run(process.execPath, 'example.mjs'), 'true true\n');
});

test('the types declare what is exported', () => {
    const types = fs.readFileSync(path.join(folder, 'index.d.ts'), 'utf8');
    const declared = [...types.matchAll(/^export (?:class|function|const) (\w+)/gm)].map(([, name]) => name);
    const lockkeeper = require(folder);
    assert.deepEqual(declared.sort(), Object.keys(lockkeeper).sort());
    for (const name of ['Store', 'Lease', 'Work', 'Item', 'Claim', 'Watch']) {
        const body = types.match(new RegExp(`^export class ${name} .*?^}`, 'ms'))[0];
        for (const member of Object.getOwnPropertyNames(lockkeeper[name].prototype)) {
            assert(member.startsWith('_') || member === 'constructor' || new RegExp(`\\b${member}[(:<]`).test(body),
                `${name}.${member} is not declared`);
        }
    }
});

test('the package has the version of the library, and is built of what is there', () => {
    assert.equal(JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8')).version, version);
    const sources = fs.readFileSync(path.join(folder, 'binding.gyp'), 'utf8').match(/src\/\w+\.c/g);
    assert.deepEqual(sources, fs.readdirSync(path.join(folder, 'src')).filter((name) => name.endsWith('.c'))
        .sort().map((name) => `src/${name}`));
});

fs.rmSync(place, {recursive: true});
console.log(`1..${count}`);
process.exitCode = failed === 0 ? 0 : 1;
