// SPDX-License-Identifier: Apache-2.0
'use strict';
// usage: ends.js PATTERN LK: waits that are ended, many waits, collected objects, workers, exits.
const {setMaxListeners} = require('node:events');
const fs = require('node:fs/promises');
const {Worker} = require('node:worker_threads');
const {
    STRETCH, assert, lockkeeper, program, until, waits, holds, rejects, test, main,
} = require('./support');
const WAITS = 100;

test('an AbortSignal withdraws the request', async (store) => {
    const holder = await store.lock('t');
    const abort = new AbortController();
    const waiting = store.lock('t', {owner: 'ben', signal: abort.signal});
    await until(() => waits(store, 'ben'));
    const reason = new Error('no longer');
    abort.abort(reason);
    assert.equal(await rejects(Error, waiting), reason);
    assert.equal(await waits(store, 'ben'), false);
    assert.equal(await rejects(Error, store.lock('u', {signal: abort.signal})), reason);
    assert.equal((await rejects(Error, store.lock('t', {signal: AbortSignal.timeout(20)}))).name, 'TimeoutError');
    assert.equal((await store.list()).length, 1);
    await holder.release();
});

test('a call that is given up leaves what its owner held before', async (store) => {
    const lease = await store.lock('t', {owner: 'ana'});
    for (let turns = 0; turns < 20; turns += 1) {
        for (const call of ['lock', 'ask']) {
            const abort = new AbortController();
            const again = store[call]('t', {owner: 'ana', signal: abort.signal}).catch((error) => error);
            for (let i = 0; i < turns; i += 1) {
                await new Promise(setImmediate);
            }
            abort.abort();
            await (await again).abandon?.();
            assert(await holds(store, 'ana'));
        }
    }
    await lease.release();
});

test('many waits leave the event loop, and the threads of libuv, free', async (store) => {
    const holder = await store.lock('t');
    const abort = new AbortController();
    setMaxListeners(0, abort.signal);
    const all = Array.from({length: WAITS}, (_, i) =>
        store.lock('t', {owner: `w${i}`, signal: abort.signal}).catch((error) => error));
    await until(async () => (await store.list()).length === WAITS + 1, 'that all wait');
    let turns = 0;
    const ticker = setInterval(() => {
        turns += 1;
    }, 1);
    for (let i = 0; i < 50; i += 1) { // more calls at once than libuv has threads
        await Promise.all(Array.from({length: 8}, () => fs.stat(__filename)));
    }
    await store.put('v', 'as ever');
    assert.equal(String(await store.get('v')), 'as ever');
    await until(() => turns > 5, 'turns of the event loop');
    clearInterval(ticker);
    abort.abort();
    for (const error of await Promise.all(all)) {
        assert.equal(error.name, 'AbortError');
    }
    assert.equal((await store.list()).length, 1);
    await holder.release();
});

test('leases and stores that are collected', async (store, url) => {
    const other = program(url, `
        const collect = async (gone) => {
            while (!gone()) {
                gc();
                await new Promise((resolve) => setTimeout(resolve, 5));
            }
        };
        let warned = 0;
        process.on('warning', (warning) => { warned += warning.name === 'LockkeeperWarning' ? 1 : 0; });
        await (async () => { await store.lock('t', {ttl: ${300 * STRETCH}}); })();
        await collect(() => warned === 1);
        await (await store.lock('t')).release();
        for (let i = 0; i < 20; i += 1) {
            await (async () => {
                const one = await lockkeeper.open(${JSON.stringify(url)});
                await one.lock('u' + i, {ttl: ${100 * STRETCH}});
                const work = one.work('q');
                await one.watch();
                work.next();
            })();
        }
        gc();
        say('done');
        process.exit(0);`.replace(/^/, 'require("node:v8").setFlagsFromString("--expose-gc");'
        + 'const gc = require("node:vm").runInNewContext("gc");'));
    assert.equal(await other.heard(), 'done');
    assert.equal(await other.ends(), 0);
});

test('a lease whose loss is waited for is not collected', async (store, url) => {
    const other = program(url, `
        const {once} = require('node:events');
        require('node:v8').setFlagsFromString('--expose-gc');
        const gc = require('node:vm').runInNewContext('gc');
        const told = [];
        (async () => { told.push((await (await store.lock('t', {ttl: ${3000 * STRETCH}})).lost).name); })();
        (async () => {
            const lease = await store.lock('u', {ttl: ${3000 * STRETCH}});
            await once(lease.signal, 'abort');
            told.push(lease.signal.reason.name);
        })();
        (async () => {
            const lease = await store.lock('v', {ttl: ${3000 * STRETCH}});
            const {lost} = lease;
            await lease.convert({shared: true});
            told.push((await lost).name);
        })();
        for (let turn = 0; turn < 50 || (await store.list()).length < 3; turn += 1) {
            gc();
            await new Promise((resolve) => setTimeout(resolve, 5));
        }
        for (const path of ['t', 'u', 'v']) {
            await store.break(path, {reason: 'a test', by: 'a test', atOnce: true});
        }
        while (told.length < 3) {
            gc();
            await new Promise((resolve) => setTimeout(resolve, 5));
        }
        say(told.join());
        await store.close();`);
    assert.equal(await other.heard(), 'LostError,LostError,LostError');
    assert.equal(await other.ends(), 0);
});

for (const [how, source, code] of [
    ['process.exit()', 'process.exit(5);', 5],
    ['the end of the event loop', 'process.exitCode = 6; store.close();', 6],
    ['an uncaught error', 'process.once("uncaughtException", () => process.exit(7)); setTimeout(() => { throw 1; });', 7],
]) {
    test(`a process ends with leases held and waits in progress: ${how}`, async (store, url) => {
        const other = program(url, `
            await store.lock('t', {ttl: ${3000 * STRETCH}, owner: 'ana'});
            await store.lock('kept', {ttl: ${3000 * STRETCH}});
            store.lock('t', {owner: 'ben'}).catch(() => undefined);
            store.work('q').next().catch(() => undefined);
            (await store.watch()).next().catch(() => undefined);
            say('held');
            await hear();
            ${source}`);
        assert.equal(await other.heard(), 'held');
        await until(() => waits(store, 'ben'));
        assert.equal(await other.ends(), code);
        assert.equal(await waits(store, 'ben'), false); // withdrawn
        await (await store.lock('t', {wait: 30_000 * STRETCH})).release(); // at its deadline
    });
}

test('a lease does not keep the process alive', async (store, url) => {
    const other = program(url, 'process.stdin.unref(); await store.lock("t", {ttl: 60_000, owner: "ana"}); say("held");');
    assert.equal(await other.heard(), 'held');
    assert.equal(await other.ended, 0);
    await store.break('t', {reason: 'a test', by: 'a test', atOnce: true});
});

function worker(url, source) {
    return new Worker(`
        const {parentPort} = require('node:worker_threads');
        const lockkeeper = require(${JSON.stringify(process.env.LK_NODE_PACKAGE)});
        (async () => {
            const store = await lockkeeper.open(${JSON.stringify(url)});
            ${source}
        })();`, {eval: true});
}

function heard(one) {
    return new Promise((resolve, reject) => one.once('message', resolve).once('error', reject));
}

test('workers of worker_threads have stores of their own', async (store, url) => {
    const workers = Array.from({length: 4}, (_, i) => worker(url, `
        for (let turn = 0; turn < 5; turn += 1) {
            await store.with('t', async () => undefined);
        }
        await store.close();
        parentPort.postMessage(${i});`));
    assert.deepEqual((await Promise.all(workers.map(heard))).sort(), [0, 1, 2, 3]);
    assert.deepEqual(await store.list(), []);
});

test('a worker that is terminated ends its waits; its leases end at their deadlines', async (store, url) => {
    const one = worker(url, `
        await store.lock('t', {ttl: ${3000 * STRETCH}, owner: 'ana'});
        store.lock('t', {owner: 'ben'});
        store.work('q').next();
        (await store.watch()).next();
        parentPort.postMessage('held');`);
    assert.equal(await heard(one), 'held');
    await until(() => waits(store, 'ben'));
    await one.terminate();
    assert.equal(await waits(store, 'ben'), false);
    await (await store.lock('t', {wait: 30_000 * STRETCH})).release();
    assert.equal(await holds(store, 'ana'), false);
});

test('a handle cannot be sent to another environment', async () => {
    const handle = require(process.env.LK_NODE_ADDON).cancelMake();
    assert.throws(() => structuredClone(handle), /could not be cloned/);
    assert(lockkeeper.version.startsWith('0.'));
});

main();
