// SPDX-License-Identifier: Apache-2.0
'use strict';
// usage: locks.js PATTERN LK: locks, leases, requests without keep-alive, values, wrong arguments.
const path = require('node:path');
const util = require('node:util');
const {
    STRETCH, assert, lockkeeper, lk, place, sleep, Program, program, until, stopped, holds, waits, move, rejects, test,
    main,
} = require('./support');
const {BusyError, TimeoutError, LostError, DeadlockError, InvalidError, ClosedError} = lockkeeper;
const YEAR_MS = 366 * 86_400_000;

test('a lease is held in its scope and free behind it', async (store) => {
    const kept = await store.with('db/t1', {owner: 'ana', note: 'a test', ttl: 20_000}, async (lease) => {
        assert.deepEqual([lease.owner, lease.paths, lease.isLost], ['ana', ['db/t1'], false]);
        assert(lease.token > 0n && lease.remaining > 0 && lease.remaining <= 20_000);
        lease.check();
        const [entry] = await store.list('db');
        assert.deepEqual([entry.path, entry.note, entry.held, entry.token],
            ['db/t1', 'a test', true, lease.token]);
        assert.equal(await store.tryLock('db/t1'), null);
        const busy = await rejects(BusyError, store.lock('db/t1', {wait: 0}));
        assert.deepEqual([busy.code, busy.outcome, busy.blockers.length], ['LK_BUSY', 'busy', 1]);
        return lease;
    });
    assert.deepEqual([await store.list(), kept.isLost, kept.remaining], [[], false, 0]);
    await kept.release(); // again: nothing
    await rejects(LostError, async () => kept.check());
    await rejects(LostError, kept.release({put: 'x'}));
    await assert.rejects(store.with(['t', 'u'], async () => {
        throw new Error('of the scope');
    }), /of the scope/);
    assert.deepEqual(await store.list(), []);
});

test('a lease that was quick stays for its least time', async (store) => {
    const left = async () => (await store.list()).map((entry) => entry.expiresIn > 600_000);
    await store.with('t', {ttl: 10_000, atLeast: 3_600_000}, async () => undefined);
    assert.deepEqual([await left(), await store.tryLock('t')], [[true], null]);
    await store.break('t', {reason: 'a test', by: 'a test', atOnce: true});
    const ended = await store.lock('t', {atLeast: 3_600_000});
    await ended.release({now: true});
    await store.with('t', {atLeast: 50}, () => sleep(60));
    assert.deepEqual(await left(), []);
    const lease = await store.lock('t', {atLeast: 3_600_000});
    await lease.convert({shared: true});
    await rejects(InvalidError, lease.release({put: '1'}));
    lease.check();
    await lease.release();
    assert.deepEqual(await left(), [true]);
    await rejects(InvalidError, store.lock('u', {atLeast: 49}));
    await rejects(InvalidError, store.lock('u', {atLeast: 1000, value: true}));
});

test('the scope of a language ends what it has: Symbol.asyncDispose', async (store, url) => {
    const dispose = Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose');
    const other = await lockkeeper.open(url);
    await other.push('q', 'a');
    const work = other.work('q');
    assert.equal((await work.next()).value.id, 'a');
    const watch = await other.watch();
    const lease = await other.lock('t');
    for (const one of [lease, watch, work]) {
        assert.equal(await one[dispose](), undefined);
    }
    assert.deepEqual([await store.list(), (await store.items('q'))[0].state], [[], 'ready']);
    assert.deepEqual([(await watch.next()).done, (await work.next()).done], [true, true]);
    await other[dispose]();
    assert.equal(other.closed, true);
});

test('await using, where the language has it', async (store) => {
    const source = "await using lease = await store.lock('t'); return (await store.list()).length;";
    let scope;
    try {
        scope = new (async () => undefined).constructor('store', source);
    } catch (error) {
        assert(error instanceof SyntaxError && Number.parseInt(process.versions.node, 10) < 24);
        return;
    }
    assert.equal(await scope(store), 1);
    assert.deepEqual(await store.list(), []);
});

test('a lease that has ended is no scope', async (store) => {
    const dispose = Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose');
    const lease = await store.lock('t');
    const atEnd = lease[dispose]; // as `await using` takes it at its begin
    await lease.release();
    await atEnd.call(lease); // the end of the scope that it was released in: nothing
    assert.throws(() => lease[dispose], LostError);
    const broken = await store.lock('t', {ttl: 200 * STRETCH});
    await store.break('t', {reason: 'a test', by: 'a test', atOnce: true});
    await until(() => broken.isLost, 'the loss');
    assert.throws(() => broken[dispose], LostError);
});

test('a release that is not answered is asked for again', async (store) => {
    if (!process.argv[2].startsWith('sqlite:')) {
        return; // there it takes the ten seconds for which an unreachable store is asked
    }
    const file = path.join(place, 'moved.db');
    const other = await lockkeeper.open(`sqlite:${file}`);
    await other.push('q', 'a');
    const leases = [await other.lock('t'), await other.lock(['u', 'v'])];
    move(file, `${place}/away`);
    for (const put of [undefined, {u: 'one', v: 'two'}]) {
        const lease = put === undefined ? leases[0] : leases[1];
        const both = [lease.release({put}), lease.release({put})];
        for (const release of both) { // neither says that it has ended
            await rejects(lockkeeper.UnavailableError, release);
        }
        await rejects(lockkeeper.UnavailableError, lease.release({put}));
    }
    move(`${place}/away`, file);
    assert.equal((await other.list()).length, 3);
    await rejects(InvalidError, leases[0].release({put: 'x'})); // that would not be the same release
    await rejects(InvalidError, leases[1].release({put: {u: 'one', v: 'three'}}));
    await leases[0].release();
    await rejects(InvalidError, leases[1].release({put: Buffer.alloc(65_537)}));
    await leases[1].release({put: {u: 'one', v: 'two'}});
    assert.deepEqual([await other.list(), String(await other.get('v'))], [[], 'two']);
    await leases[0].release(); // again: nothing
    await rejects(LostError, leases[1].release({put: 'x'}));
    await other.close();
});

test('a scope that would wait for itself is told', async (store, url) => {
    await store.with(['t', 'u'], async (lease) => {
        for (const parts of ['t', 't/below', ['free', 'u?shared']]) {
            const error = await rejects(DeadlockError, store.with(parts, async () => undefined));
            assert.deepEqual([error.cycle, error.blockers[0].owner], [[lease.owner], lease.owner]);
        }
        await rejects(DeadlockError, store.with('free', () => store.lock('t', {wait: Infinity})));
        await rejects(TimeoutError, store.lock('t', {wait: 10}));
        await (await store.lock('t/below', {owner: lease.owner})).release(); // covered (R8)
        await (await store.lock('free')).release();
        assert.equal((await store.list()).length, 2);
    });
    const other = await lockkeeper.open(url);
    const holder = await other.lock('t');
    const shared = await other.lock('s?shared');
    let waiting;
    await store.with('s?shared', async () => { // another one holds it
        waiting = store.lock('t', {owner: 'ben'});
        await until(() => waits(store, 'ben'));
        await holder.release();
        await (await waiting).release();
    });
    let later;
    await store.with('t', async () => { // what a scope has begun waits for others once that has ended
        later = (async () => {
            await until(async () => (await store.list()).length === 1);
            return store.lock('t');
        })();
    });
    await (await later).release();
    await shared.release();
    await other.close();
});

test('a scope is told only of what lasts as long as itself', async (store, url) => {
    const other = await lockkeeper.open(url);
    const held = await other.lock(['sem?limit=2', 's?shared', 'wide?limit=4']);
    await store.with(['sem?limit=2', 's?shared', 'wide?limit=4&units=2'], async (lease) => {
        const waiting = store.lock('sem', {limit: 2, owner: 'ben'}); // another one has a unit
        waiting.catch(() => undefined);
        await until(() => waits(other, 'ben'));
        for (const parts of ['s', 'wide?limit=4&units=3', ['free', 'wide?limit=2'], 'sem', 'sem?limit=1']) {
            const error = await rejects(DeadlockError, store.lock(parts));
            assert.deepEqual(error.cycle, [lease.owner]);
        }
        await store.with('wide?limit=4', () => rejects(DeadlockError, store.lock('wide', {limit: 4, units: 2})));
        await lease.convert(['sem?limit=2', 's?shared', 'wide?limit=4']); // with fewer units
        const more = store.lock('wide', {limit: 4, units: 3, owner: 'cleo'});
        more.catch(() => undefined);
        await until(() => waits(other, 'cleo'));
        await held.release();
        await (await waiting).release();
        await (await more).release();
    });
    let next;
    await rejects(LostError, store.with('fixed', {until: new Date(Date.now() + 2000 * STRETCH)}, async (lease) => {
        next = await store.lock('fixed');
        assert.notEqual(next.owner, lease.owner);
    }));
    await next.release();
    await other.close();
});

test('what is printed says which', async (store, url) => {
    const lease = await store.lock(['t', 'u']);
    assert.equal(util.inspect(lease), `Lease {t u, token ${lease.token}, held}`);
    await lease.release();
    const printed = util.inspect({lease, store});
    assert(printed.includes('ended}') && printed.includes(`Store {${url.slice(0, 6)}`), printed);
});

test('a wait ends by its time, and is granted in order', async (store, url) => {
    const holder = await store.lock('t', {owner: 'ana'});
    const late = await rejects(TimeoutError, store.lock('t', {wait: 30}));
    assert.deepEqual([late.blockers[0].owner, late.blockers[0].held], ['ana', true]);
    assert.match(late.message, /^not granted within the time given: t is held by ana, \d+ s left$/);
    const source = (owner) => `const lease = await store.lock('t', {owner: '${owner}'});
        say(lease.token); await hear(); await lease.release(); await store.close();`;
    const second = program(url, source('ben'));
    await until(() => waits(store, 'ben'));
    const third = program(url, source('cem'));
    await until(() => waits(store, 'cem'));
    const {token} = holder;
    await holder.release();
    assert(BigInt(await second.heard()) > token);
    assert(await waits(store, 'cem'));
    assert.equal(await second.ends(), 0);
    assert.equal(await third.ends(), 0);
});

test('a deadlock names its cycle', async (store) => {
    const mine = await store.lock('b', {owner: 'ben'});
    const other = await store.lock('a', {owner: 'ana'});
    const waiting = store.lock('b', {owner: 'ana'});
    await until(() => waits(store, 'ana'));
    const error = await rejects(DeadlockError, store.lock('a', {owner: 'ben'}));
    assert.deepEqual(error.cycle, ['ben', 'ana']);
    await mine.release();
    await (await waiting).release();
    await other.release();
});

test('the library renews; a fixed end is a loss', async (store) => {
    const lease = await store.lock('fixed', {until: new Date(Date.now() + 5000 * STRETCH)});
    const kept = await store.lock('t', {ttl: 4000 * STRETCH});
    const error = await lease.lost;
    assert(error instanceof LostError && lease.isLost && lease.signal.aborted);
    assert.equal(lease.signal.reason, error);
    assert.deepEqual([kept.isLost, await holds(store, kept.owner)], [false, true]);
    await kept.release();
    await until(async () => (await store.list()).length === 0);
    await rejects(LostError, lease.release());
});

test('conversion keeps or draws the token', async (store) => {
    const lease = await store.lock('t', {ttl: 30_000, owner: 'ana'});
    const first = lease.token;
    await lease.convert({shared: true});
    assert.equal(lease.token, first);
    const other = await store.lock('t', {shared: true});
    await rejects(BusyError, lease.convert());
    assert.deepEqual([lease.isLost, lease.token], [false, first]);
    await other.release();
    await lease.convert('t');
    assert(lease.token > first && !lease.isLost);
    const [entry] = await store.list();
    assert.deepEqual([entry.shared, entry.token, entry.ttl], [false, lease.token, 30_000]);
    await lease.convert({shared: true});
    await store.release('t', {owner: 'ana'}); // by another handle
    await rejects(LostError, lease.convert());
    assert.deepEqual([await store.list(), lease.isLost], [[], true]);
    await rejects(LostError, lease.put('x'));
});

test('a loss is told once, and ends the scope', async (store) => {
    const broken = () => store.break('t', {reason: 'a test', by: 'a test', atOnce: true});
    let told = 0;
    await rejects(LostError, store.with('t', {ttl: 3000 * STRETCH}, async (lease) => {
        lease.signal.addEventListener('abort', () => {
            told += 1;
        });
        assert.equal(await broken(), 1);
        await lease.lost;
        await rejects(LostError, async () => lease.check());
    }));
    assert.equal(told, 1);
    await assert.rejects(store.with('t', async () => {
        await broken();
        throw new Error('of the scope');
    }), /of the scope/);
    assert.equal(await store.break('t', {reason: 'again', by: 'cem'}), 0);
});

test('holders that are killed or stopped', async (store, url) => {
    const source = `try {
            await store.with('t', {ttl: ${700 * STRETCH}, value: true}, async (lease) => { say('held'); await hear(); });
        } catch (error) { say(error.name); }
        await store.close();`;
    await store.put('t', 'half');
    const killed = program(url, source);
    assert.equal(await killed.heard(), 'held');
    killed.kill();
    const next = await store.lock('t', {value: true, wait: 30_000 * STRETCH});
    assert.equal(next.inDoubt, true);
    await next.release({put: 'whole'});
    const held = program(url, source);
    assert.equal(await held.heard(), 'held');
    await stopped(held);
    await (await store.lock('t')).release();
    held.say('go on');
    held.kill('SIGCONT');
    assert.equal(await held.heard(), 'LostError');
    assert.equal(await held.ends(), 0);
});

test('values: with the grant, with the release, by path', async (store) => {
    assert.equal(await store.get('v'), null);
    await store.put('v', Buffer.from([0, 1, 255, 0]));
    assert.deepEqual(await store.get('v'), Buffer.from([0, 1, 255, 0]));
    await store.put('v', '');
    const lease = await store.lock(['v', 'w'], {value: true});
    assert.deepEqual([lease.value, lease.values.length, lease.values[1].data], [Buffer.alloc(0), 2, null]);
    await lease.put(new Uint16Array([1]), 'w');
    await rejects(InvalidError, lease.release({put: Buffer.alloc(65_537)}));
    lease.check(); // nothing was done
    await lease.release({put: {v: 'one', w: 'two'}});
    assert.deepEqual([String(await store.get('v')), String(await store.get('w'))], ['one', 'two']);
    const listed = [];
    for await (const one of store.values()) {
        listed.push(one);
    }
    assert.deepEqual(listed, [{path: 'v', size: 3, inDoubt: false}, {path: 'w', size: 3, inDoubt: false}]);
});

test('bad input is an error of the right kind, and does nothing', async (store) => {
    const long = 'x'.repeat(600);
    await rejects(InvalidError, store.lock(long));
    await rejects(InvalidError, store.lock('t', {ttl: YEAR_MS + YEAR_MS / 2}));
    await rejects(InvalidError, store.lock('t', {ttl: 1}));
    await rejects(InvalidError, store.lock([]));
    await rejects(InvalidError, store.lock(Array.from({length: 40}, (_, i) => `t${i}`)));
    await rejects(InvalidError, store.lock('t', {note: long}));
    await rejects(InvalidError, lockkeeper.open('nothing-like:this').catch((error) => {
        throw error instanceof lockkeeper.UnsupportedError ? new InvalidError('as good') : error;
    }));
    for (const parts of ['a\0b', '\ud800', 5, null, undefined, {}, [null], ['a', 5], Symbol('t'), () => 't']) {
        await rejects(TypeError, store.lock(parts));
        await rejects(TypeError, store.tryLock(parts));
    }
    for (const options of [null, 5, 'shared', [], {sahred: true}, {shared: 1}, {ttl: '5'}, {ttl: 5n},
        {owner: 'a\0b'}, {owner: null}, {signal: {}}, {limit: '2'}, {until: 'now'}, {__proto__: null, x: 1}]) {
        await rejects(TypeError, store.lock('t', options));
    }
    for (const options of [{ttl: -1}, {ttl: 0}, {ttl: NaN}, {ttl: Infinity}, {ttl: 1e300}, {wait: -1}, {wait: NaN},
        {limit: 0}, {limit: -1}, {limit: 1.5}, {limit: 2 ** 32}, {units: NaN}, {until: new Date(NaN)}]) {
        await rejects(RangeError, store.lock('t', options));
    }
    await rejects(TypeError, store.tryLock('t', {wait: 5}));
    await rejects(TypeError, store.put('t', 5));
    await rejects(TypeError, store.put('t', null));
    await rejects(TypeError, store.put('t', '\ud800'));
    await rejects(RangeError, store.put('t', 'x', {owner: 'a', token: -1n}));
    await rejects(RangeError, store.put('t', 'x', {owner: 'a', token: 1n << 64n}));
    await rejects(TypeError, store.put('t', 'x', {owner: 'a', token: 1.5}));
    await rejects(TypeError, store.with('t'));
    await rejects(TypeError, store.break('t', {reason: 5}));
    await rejects(TypeError, store.ask('t', {style: 'later'}));
    await rejects(TypeError, store.setLimits({lives: 9}));
    await rejects(TypeError, lockkeeper.open(5));
    await rejects(TypeError, lockkeeper.open('sqlite:\0'));
    assert.deepEqual([await store.list(), await store.get('t')], [[], null]);
});

test('the functions of the module refuse what is no handle of theirs', async () => {
    const native = require(process.env.LK_NODE_ADDON);
    const others = ['end', 'onNotice', 'open', 'cancelMake', 'feedMake', 'now']; // take no handle
    for (const [name, call] of Object.entries(native)) {
        if (typeof call === 'function' && !others.includes(name)) {
            for (const wrong of [undefined, null, 5, 'x', {}, [], native.cancelMake]) {
                assert.throws(() => call(wrong, wrong, wrong, wrong, wrong, wrong), TypeError, name);
            }
        }
    }
    const cancel = native.cancelMake();
    assert.throws(() => native.leaseLost(cancel), TypeError); // of another kind
    assert.throws(() => native.open(5), TypeError);
    assert.throws(() => native.open('a\0b'), TypeError);
});

test('administration', async (store) => {
    await store.setLimits({live: 7});
    assert.equal((await store.limits()).live, 7);
    assert((await store.examine()).text.length > 0);
    assert.equal(store.away, 0);
});

test('a backup is a store of its own', async (store) => {
    const file = path.join(place, 'backup.db');
    await store.put('v', 'kept');
    if (!process.argv[2].startsWith('sqlite:')) {
        await rejects(lockkeeper.UnsupportedError, store.backup(file));
        return;
    }
    await store.backup(file);
    await store.put('v', 'later');
    const copy = await lockkeeper.open(`sqlite:${file}`);
    assert.equal(String(await copy.get('v')), 'kept');
    await copy.close();
    await rejects(lockkeeper.LockkeeperError, store.backup(file)); // it is there
    await rejects(TypeError, store.backup('a\0b'));
    await rejects(TypeError, store.backup());
});

test('a store that goes away, and comes back', async () => {
    const file = path.join(place, 'away');
    const serve = async () => {
        const service = new Program(
            [lk, 'serve', '--unix', file, '--listen', 'none', '--http', 'none', '--ephemeral']);
        await service.heard();
        return service;
    };
    let service = await serve();
    const away = await lockkeeper.open(`lk+unix:${file}`);
    try {
        const lease = await away.lock('t', {ttl: 500 * STRETCH});
        service.kill();
        await service.ended;
        const lost = rejects(LostError, (async () => {
            await until(() => lease.isLost, 'the loss');
            lease.check();
        })());
        await rejects(lockkeeper.UnavailableError, away.lock('u', {wait: 0, patience: 50}));
        await until(() => away.away > 0, 'that it is away');
        await lost; // without any answer
        const waiting = away.lock('u'); // as long as it takes
        service = await serve();
        await (await waiting).release();
        await away.put('v', 'as ever');
        await until(() => away.away === 0, 'that it is back');
        assert.equal(String(await away.get('v')), 'as ever');
        await rejects(LostError, lease.release({put: 'x'}));
    } finally {
        await away.close();
        service.kill();
        await service.ended;
    }
});

test('a closed store', async (store, url) => {
    const other = await lockkeeper.open(url);
    const lease = await other.lock('t', {ttl: 3000 * STRETCH});
    const waiting = rejects(lockkeeper.CancelledError, other.lock('t', {owner: 'ben'}));
    await until(() => waits(store, 'ben'));
    await Promise.all([other.close(), other.close()]);
    await waiting;
    assert.equal(other.closed, true);
    assert.equal(await waits(store, 'ben'), false);
    await rejects(ClosedError, other.lock('t'));
    await rejects(ClosedError, other.get('t'));
    await rejects(ClosedError, other.watch());
    await rejects(ClosedError, async () => other.work('q'));
    await rejects(lockkeeper.LockkeeperError, lease.release()); // the store is away for it
    await (await store.lock('t', {wait: 30_000 * STRETCH})).release(); // it ended at its deadline
    await sleep(0);
});

main();
