// SPDX-License-Identifier: Apache-2.0
'use strict';
// usage: claims.js PATTERN LK: items that are claimed, kept and ended by calls of their own.
const {execFileSync} = require('node:child_process');
const path = require('node:path');
const {STRETCH, assert, lockkeeper, place, program, sleep, until, rejects, test, main} = require('./support');
const onSqlite = process.argv[2].startsWith('sqlite:');
const {CancelledError, ClosedError, InvalidError, LostError} = lockkeeper;
const FOREVER = {wait: Infinity};
const YEAR_AND_A_HALF = 550 * 86_400_000;

async function states(store, queue = 'q') {
    return (await store.items(queue)).map(({id, state}) => [id, state]);
}

// Nothing of this thread happens for a while.
function stand() {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
}

test('a claim is kept and ended by hand', async (store) => {
    assert.equal(await store.claim('q'), null);
    await store.push('q', 'a', 'to: ana');
    const claim = await store.claim('q', {ttl: 20_000, owner: 'bob', note: 'a test'});
    assert(claim instanceof lockkeeper.Claim);
    assert.deepEqual([claim.queue, claim.id, String(claim.value), claim.owner, claim.attempt, claim.isStolen,
        claim.rowId, claim.ttl], ['q', 'a', 'to: ana', 'bob', 1, false, null, 20_000]);
    assert(claim.remaining > 0 && claim.remaining <= 20_000);
    const [entry] = await store.list('q');
    assert.deepEqual([entry.path, entry.token, entry.note, entry.held], ['q/a', claim.token, 'a test', true]);
    assert.equal(await store.claim('q', {wait: 10}), null);
    assert.equal((await claim.renew()).ttl, 20_000);
    assert.equal((await claim.renew({ttl: 40_000})).ttl, 40_000);
    assert(claim.remaining > 20_000 && claim.remaining <= 40_000);
    assert((await store.list('q'))[0].expiresIn > 20_000);
    await claim.done();
    assert.deepEqual(await states(store), []);
    await claim.done(); // again: nothing
    await rejects(LostError, claim.renew());
});

test('an item is given back with a delay and a reason', async (store) => {
    await store.push('q', 'a');
    const first = await store.claim('q');
    await first.retry({error: new Error('no route'), exitCode: 3});
    const [kept] = await store.items('q');
    assert.deepEqual([kept.state, kept.lastExit, String(kept.lastError)], ['ready', 3, 'Error: no route']);
    await (await store.claim('q')).retry({delay: 60_000, error: Buffer.from([0, 255])});
    const [delayed] = await store.items('q');
    assert.equal(delayed.state, 'delayed');
    assert(delayed.dueIn > 30_000 && delayed.dueIn <= 60_000);
    assert.deepEqual([...delayed.lastError], [0, 255]);
});

test('of the text of an error there is kept what an item keeps', async (store) => {
    await store.push('q', 'a');
    await (await store.claim('q')).retry({error: new Error('x'.repeat(2000))});
    assert.equal((await store.items('q'))[0].lastError.length, 1024);
    const claim = await store.claim('q');
    await rejects(InvalidError, claim.retry({error: 'x'.repeat(1025)}));
    await claim.retry({error: 'x'.repeat(1024)});
});

test('what is done is kept with its result, and a claim tells its progress', async (store) => {
    await store.push('q', 'a', 'in', {keep: 600_000});
    await store.pushMany('q', [['b'], ['c']]);
    const claims = await store.claimMany('q', 3);
    await claims[0].progress('half');
    assert.equal(String((await store.items('q'))[0].progress), 'half');
    await claims[0].progress(null);
    assert.equal((await store.items('q'))[0].progress, null);
    await rejects(InvalidError, claims[0].progress('x'.repeat(1025)));
    await rejects(InvalidError, claims[0].done('x'.repeat(65_537)));
    await rejects(InvalidError, claims[0].done('x', {keep: YEAR_AND_A_HALF}));
    await claims[0].done('out');
    await claims[1].done(Buffer.from([0, 255]), {keep: 600_000});
    await claims[2].done('of no use');
    await rejects(LostError, claims[2].progress('late'));
    assert.deepEqual((await store.items('q')).map(({id, state, value, dueIn}) => [id, state, [...value], dueIn > 0]),
        [['a', 'done', [...Buffer.from('out')], true], ['b', 'done', [0, 255], true]]);
    const stats = await store.stats('q');
    assert.deepEqual([stats.done, stats.doneNow], [3, 2]);
});

test('a delay ends by itself', async (store) => {
    await store.push('q', 'a');
    await (await store.claim('q')).retry({delay: 50});
    assert.equal((await store.claim('q', FOREVER)).attempt, 2);
});

test('another process ends a claim, by owner and token', async (store, url) => {
    await store.pushMany('q', [['a'], ['b']]);
    const [a, b] = await store.claimMany('q', 2);
    const other = program(url, `
        const [owner, token] = String(await hear()).trim().split(' ');
        await store.done('q', 'a', {owner, token: BigInt(token)});
        await store.retry('q', 'b', {owner, token: BigInt(token), error: 'elsewhere', delay: 60_000});
        say('ended');
        await store.close();`);
    other.say(`${a.owner} ${a.token}`);
    assert.equal(await other.heard(), 'ended');
    assert.equal(await other.ends(), 0);
    assert.deepEqual(await states(store), [['b', 'delayed']]);
    await rejects(LostError, b.renew());
});

test('a claim outlives its store object, and another one ends it', async (store, url) => {
    await store.push('q', 'a');
    const other = await lockkeeper.open(url);
    const claim = await other.claim('q');
    await other.close();
    assert.deepEqual(await states(store), [['a', 'claimed']]);
    await store.renew('q/a', {owner: claim.owner, token: claim.token, ttl: 30_000});
    await store.done('q', 'a', {owner: claim.owner, token: claim.token});
    assert.deepEqual(await states(store), []);
});

test('a claim that is not renewed is lost to the next one', async (store) => {
    await store.push('q', 'a');
    const first = await store.claim('q', {ttl: 50});
    await until(async () => (await store.items('q'))[0].state === 'ready', 'the end of the claim');
    const second = await store.claim('q');
    assert.deepEqual([second.id, second.attempt, second.isStolen], ['a', 2, true]);
    assert.equal(first.remaining, 0);
    for (const call of [() => first.renew(), () => first.done(), () => first.retry(),
        () => store.retry('q', 'a', {owner: first.owner, error: 'late'})]) {
        await rejects(LostError, call);
    }
    assert.equal(await store.doneMany('q', ['a'], {owner: first.owner, token: first.token}), 0);
    await second.done();
});

test('a claim that is renewed is kept beyond its ttl', async (store) => {
    await store.push('q', 'a');
    const claim = await store.claim('q', {ttl: 4000 * STRETCH});
    const over = Date.now() + 5000 * STRETCH;
    while (Date.now() < over) {
        await sleep(20);
        await claim.renew();
        assert.equal(await store.claim('q'), null);
    }
    await claim.done();
});

test('claims wait for a push, and the event loop turns meanwhile', async (store, url) => {
    const one = store.claim('q', FOREVER);
    const many = store.claimMany('r', 9, FOREVER);
    let turns = 0;
    const ticker = setInterval(() => {
        turns += 1;
    }, 1);
    await until(() => turns > 20, 'turns of the event loop');
    clearInterval(ticker);
    const other = program(url, `
        await store.push('q', 'a', 'one');
        await store.push('r', 'b');
        await store.close();`);
    assert.deepEqual([(await one).id, (await many).map(({id}) => id)], ['a', ['b']]);
    assert.equal(await other.ends(), 0);
});

test('an AbortSignal ends a wait, and nothing stays claimed', async (store) => {
    const abort = new AbortController();
    const options = {...FOREVER, signal: abort.signal};
    const waits = [store.claim('q', options), store.claimMany('q', 5, options)].map((one) => rejects(Error, one));
    await sleep(20);
    const reason = new Error('no longer');
    abort.abort(reason);
    for (const waiting of waits) {
        assert.equal(await waiting, reason);
    }
    assert.equal(await rejects(Error, store.claim('q', {signal: abort.signal})), reason); // before it asks
    const late = store.claim('q', {...FOREVER, signal: AbortSignal.timeout(20)});
    assert.equal((await rejects(Error, late)).name, 'TimeoutError');
    await store.push('q', 'a');
    assert.deepEqual(await states(store), [['a', 'ready']]);
});

test('what a wait has claimed when it is aborted is given back', async (store) => {
    await store.pushMany('q', [['a'], ['b']]);
    for (const call of [(signal) => store.claim('q', {signal}), (signal) => store.claimMany('q', 2, {signal})]) {
        const abort = new AbortController();
        const claiming = rejects(Error, call(abort.signal));
        stand(); // the event loop does not turn before the items are claimed in another thread
        abort.abort();
        assert.equal((await claiming).name, 'AbortError');
        assert.deepEqual(await states(store), [['a', 'ready'], ['b', 'ready']]);
    }
    assert.equal((await store.stats('q')).claims, 3); // so there was something to give back
});

test('a claim ends with its store, and gives back what it has claimed', async (store, url) => {
    const other = await lockkeeper.open(url);
    const waiting = rejects(CancelledError, other.claim('q', FOREVER));
    await other.close();
    await waiting;
    await store.push('q', 'a');
    const third = await lockkeeper.open(url);
    const claiming = rejects(CancelledError, third.claim('q'));
    stand();
    await third.close();
    await claiming;
    assert.deepEqual([await states(store), (await store.stats('q')).claims], [[['a', 'ready']], 1]);
});

test('rows of a table are claimed', async (store) => {
    const table = {name: 'orders', where: 'sent = 0', done: 'UPDATE orders SET sent = 5 WHERE id = :id'};
    if (!onSqlite) {
        await rejects(lockkeeper.UnsupportedError, store.claim(null, {table}));
        return;
    }
    const file = path.join(place, 'claims.db');
    const sql = (statement) => execFileSync('sqlite3', [file, statement], {encoding: 'utf8'}).trim();
    sql('CREATE TABLE orders (id INTEGER PRIMARY KEY, sent INTEGER); INSERT INTO orders VALUES (1, 0), (2, 0), (3, 0)');
    const application = await lockkeeper.open(`sqlite:${file}?share=yes`);
    for await (const item of application.work(null, {table})) {
        assert.equal(item.rowId, '1');
        break; // the rows are announced, and this one is given back
    }
    sql('UPDATE orders SET sent = 1 WHERE id = 1');
    const claim = await application.claim(null, {table}); // the row of the first does not match any more
    assert.deepEqual([claim.queue, claim.id, claim.rowId], ['orders', '2', '2']);
    await claim.done();
    assert.equal(sql('SELECT sent FROM orders WHERE id = 2'), '5');
    assert.equal((await application.claim('orders')).rowId, null); // without the table, an item as others
    assert.equal(await application.claim(null, {table}), null);
    await application.close();
});

test('bad input', async (store) => {
    const owner = 'o';
    for (const [kind, name, ...given] of [
        [TypeError, 'claim', 5], [TypeError, 'claim'], [TypeError, 'claim', 'a\0'], [TypeError, 'claim', 'q', null],
        [TypeError, 'claim', 'q', {wiat: 5}], [TypeError, 'claim', 'q', {ttl: '1'}],
        [TypeError, 'claim', 'q', {owner: 'a\0'}], [TypeError, 'claim', 'q', {note: 5}],
        [TypeError, 'claim', 'q', {signal: 5}], [TypeError, 'claim', null, {table: 'orders'}],
        [RangeError, 'claim', 'q', {wait: -1}], [RangeError, 'claim', 'q', {wait: NaN}],
        [RangeError, 'claim', 'q', {ttl: 0}], [RangeError, 'claim', 'q', {maxAttempts: 0}],
        [InvalidError, 'claim', ''], [InvalidError, 'claim', 'x'.repeat(600)],
        [InvalidError, 'claim', 'q', {ttl: YEAR_AND_A_HALF}], [InvalidError, 'claim', 'q', {ttl: 1}],
        [InvalidError, 'claim', 'q', {owner: 'x'.repeat(600)}], [InvalidError, 'claim', 'q', {note: 'x'.repeat(256)}],
        [TypeError, 'claimMany', 'q'], [TypeError, 'claimMany', 'q', '1'], [RangeError, 'claimMany', 'q', 0],
        [RangeError, 'claimMany', 'q', 257], [RangeError, 'claimMany', 'q', 1.5],
        [TypeError, 'claimMany', 'q', 1, {table: {name: 'orders'}}],
        [InvalidError, 'claimMany', 'x'.repeat(600), 1], [InvalidError, 'claimMany', 'q', 1, {ttl: YEAR_AND_A_HALF}],
        [TypeError, 'done', 'q', 'a'], [TypeError, 'done', 'q', 'a', {}], [TypeError, 'done', 'q', null, {owner}],
        [TypeError, 'done', 'q\0', 'a', {owner}], [TypeError, 'done', 'q', 'a', {owner, token: '1'}],
        [TypeError, 'done', 'q', 'a', {owner, result: 5}], [RangeError, 'done', 'q', 'a', {owner, keep: -1}],
        [TypeError, 'done', 'q', 'a', {owner, result: 'x', token: 1n, table: {name: 'orders'}}],
        [LostError, 'done', 'q', 'a', {owner, result: 'x'}], [TypeError, 'progress', 'q', 'a', 5, {owner}],
        [TypeError, 'progress', 'q', 'a', 'x'], [LostError, 'progress', 'q', 'a', 'x', {owner}],
        [TypeError, 'push', 'q', 'a', 'x', {keep: '1'}], [InvalidError, 'push', 'q', 'a', 'x', {keep: YEAR_AND_A_HALF}],
        [TypeError, 'done', 'q', 'a', {owner, delay: 1}], [RangeError, 'done', 'q', 'a', {owner, token: 0n}],
        [RangeError, 'done', 'q', 'a', {owner, token: 1n << 64n}], [InvalidError, 'done', 'x'.repeat(600), 'a', {owner}],
        [InvalidError, 'done', 'q', 'a/b', {owner}], [LostError, 'done', 'q', 'a', {owner}],
        [TypeError, 'doneMany', 'q', 5, {owner}], [TypeError, 'doneMany', 'q', ['a', 5], {owner}],
        [TypeError, 'doneMany', 'q', ['a']], [InvalidError, 'doneMany', 'q', [], {owner}],
        [InvalidError, 'doneMany', 'q', Array.from({length: 1001}, (_, i) => `i${i}`), {owner}],
        [RangeError, 'retry', 'q', 'a', {owner, delay: -1}], [TypeError, 'retry', 'q', 'a', {owner, error: 5}],
        [TypeError, 'retry', 'q', 'a', {owner, error: '\ud800'}], [RangeError, 'retry', 'q', 'a', {owner, exitCode: 2 ** 31}],
        [TypeError, 'retry', 'q', 'a', {delay: 5}], [InvalidError, 'retry', 'q', 'a', {owner, error: Buffer.alloc(1025)}],
        [InvalidError, 'retry', 'q', 'a', {owner, delay: YEAR_AND_A_HALF}], [LostError, 'retry', 'q', 'a', {owner}],
        [LostError, 'retry', 'q', 'a', {owner, exitCode: 0}],
    ]) {
        const raised = await rejects(Error, store[name](...given));
        assert.equal(raised.constructor, kind, `${name} of ${given}: ${raised}`);
    }
});

test('a closed store', async (store, url) => {
    await store.push('q', 'a');
    const other = await lockkeeper.open(url);
    const claim = await other.claim('q');
    await other.close();
    const {owner, token} = claim;
    for (const call of [() => other.claim('q'), () => other.claim('q', FOREVER), () => other.claimMany('q', 2),
        () => other.done('q', 'a', {owner, token}), () => other.doneMany('q', ['a'], {owner, token}),
        () => other.retry('q', 'a', {owner, token}), () => claim.renew(), () => claim.done(), () => claim.retry()]) {
        await rejects(ClosedError, call);
    }
    assert.deepEqual(await states(store), [['a', 'claimed']]);
});

main();
