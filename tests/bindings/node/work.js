// SPDX-License-Identifier: Apache-2.0
'use strict';
// usage: work.js PATTERN LK: queues of work, and events.
const {execFileSync} = require('node:child_process');
const path = require('node:path');
const {
    STRETCH, assert, lockkeeper, place, program, until, move, rejects, test, main,
} = require('./support');
const onSqlite = process.argv[2].startsWith('sqlite:');
const {CancelledError, LostError, ClosedError, InvalidError, ItemParkedError, NoItemError, TimeoutError,
    UnavailableError} = lockkeeper;

test('work is pushed once, claimed by one, done', async (store) => {
    await store.push('q', 'a', 'one');
    assert.deepEqual(await store.pushMany('q', [['b', Buffer.from([0, 1])], ['c'], ['a']]),
        {added: 2, duplicates: 1, changed: 0});
    const found = [];
    const work = store.work('q', {drain: true});
    for await (const item of work) {
        assert(item.token > 0n && item.attempt === 1 && !item.isStolen && item.remaining > 0);
        found.push([item.id, item.value && String(item.value)]);
    }
    assert.deepEqual(found, [['a', 'one'], ['b', '\0\x01'], ['c', null]]);
    assert.deepEqual([work.counts.done, work.counts.claims], [3, 3]);
    const stats = await store.stats('q');
    assert.deepEqual([stats.done, stats.readyNow, stats.duplicates, stats.oldestReady], [3, 0, 1, -1]);
    assert.equal((await store.queues())[0].queue, 'q');
});

test('an item that is there is left or replaced', async (store) => {
    assert.deepEqual(await store.pushItem('q', 'a', 'old'), {added: true, changed: false, was: null});
    assert.equal(await store.push('q', 'a', 'new'), false);
    assert.deepEqual(await store.pushItem('q', 'a', 'new'), {added: false, changed: false, was: 'ready'});
    assert.deepEqual(await store.pushItem('q', 'a', 'new', {delay: 3600_000, replace: true}),
        {added: false, changed: true, was: 'ready'});
    const [item] = await store.items('q');
    assert.deepEqual([item.state, String(item.value)], ['delayed', 'new']);
    assert.deepEqual(await store.pushMany('q', [['a', 'newer'], ['b']], {replace: true}),
        {added: 1, duplicates: 1, changed: 1});
    assert.deepEqual(await store.pushMany('q', [['a', 'newest']], {again: true}),
        {added: 0, duplicates: 1, changed: 1});
    assert.equal(String((await store.items('q'))[0].value), 'newest');
    const both = {again: true, replace: true};
    await rejects(InvalidError, store.push('q', 'a', 'no', both));
    await rejects(InvalidError, store.pushMany('q', [['a', 'no'], ['b', 'no']], both));
    await rejects(TypeError, store.push('q', 'a', 'no', {again: 1}));
    await rejects(TypeError, store.pushMany('q', [['a', 'no']], {delay: 1}));
    assert.equal(String((await store.items('q'))[0].value), 'newest');
});

test('an item that is pushed again while it is worked on', async (store) => {
    await store.push('q', 'a', 'old');
    const found = [];
    for await (const item of store.work('q', {drain: true})) {
        found.push([String(item.value), item.attempt]);
        if (found.length === 1) {
            assert.deepEqual(await store.pushItem('q', 'a', 'new', {again: true}),
                {added: false, changed: true, was: 'claimed'});
            assert.equal((await store.items('q'))[0].state, 'again');
            assert.equal((await store.pushItem('q', 'a')).was, 'again');
        }
    }
    assert.deepEqual(found, [['old', 1], ['new', 1]]);
    assert.deepEqual(await store.items('q'), []);
});

test('items are retried, given back and parked', async (store) => {
    await store.push('q', 'a', null);
    await store.push('q', 'b');
    for await (const item of store.work('q', {maxAttempts: 1})) {
        if (item.id === 'a') {
            await item.retry(new Error('no address'), {exitCode: 3});
            await rejects(Error, item.done()); // it has been decided on
        } else {
            await item.giveBack();
            break;
        }
    }
    const items = await store.items('q');
    const parked = items.find(({id}) => id === 'a');
    assert.deepEqual([parked.state, parked.lastExit, String(parked.lastError)], ['parked', 3, 'Error: no address']);
    const returned = items.find(({id}) => id === 'b');
    assert.deepEqual([returned.state, returned.attempts], ['ready', 0]); // it has its attempt back
});

test('an item chooses when it is tried again', async (store) => {
    await store.pushMany('q', [['a'], ['b'], ['c']]);
    const work = store.work('q', {maxAttempts: 2});
    for await (const item of work) {
        await rejects(RangeError, item.retry('not now', {delay: -1}));
        await item.retry('not now', {delay: 3600_000, uncounted: item.id !== 'c', exitCode: 4});
        if (item.id === 'c') {
            work.stop();
        }
    }
    const items = await store.items('q');
    assert.deepEqual(items.map(({id, state, attempts, lastExit, lastError, dueIn}) =>
        [id, state, attempts, lastExit, String(lastError), dueIn > 3000_000]),
    [['a', 'delayed', 0, 4, 'not now', true], ['b', 'delayed', 0, 4, 'not now', true],
        ['c', 'delayed', 1, 4, 'not now', true]]);
});

test('a result is awaited, and the event loop turns meanwhile', async (store) => {
    await store.push('q', 'a', 'in', {keep: 600_000});
    await store.push('q', 'b', 'in', {keep: 600_000});
    assert.deepEqual([(await store.item('q', 'a')).state, await store.item('q', 'c')], ['ready', null]);
    await rejects(TimeoutError, store.result('q', 'a', {wait: 0}));
    await rejects(TimeoutError, store.result('q', 'a', {wait: 20}));
    await rejects(NoItemError, store.result('q', 'c'));
    let isOver = false;
    const waiting = store.result('q', 'a').finally(() => {
        isOver = true;
    });
    const claim = await store.claim('q');
    assert.deepEqual([claim.id, isOver], ['a', false]);
    await claim.done('out');
    assert.equal(String(await waiting), 'out');
    await (await store.claim('q')).done();
    assert.equal(await store.result('q', 'b'), null);
    const kept = await store.item('q', 'a');
    assert.deepEqual([kept.state, String(kept.value), kept.dueIn > 0], ['done', 'out', true]);
    for (const call of [() => store.result('q'), () => store.result('q', 'a', {wiat: 1}), () => store.item('q', 5),
        () => store.result('q', 'a', {signal: 5}), () => store.result('q', 'a', {wait: '1'})]) {
        await rejects(TypeError, call);
    }
    await rejects(RangeError, store.result('q', 'a', {wait: -1}));
    await rejects(InvalidError, store.result('q', 'a/b'));
});

test('an item of a loop is done with its result', async (store) => {
    await store.push('q', 'a', 'in', {keep: 600_000});
    await store.push('q', 'b');
    await store.push('q', 'c', null, {keep: 600_000});
    await store.push('q', 'd', null, {keep: 600_000});
    const items = [];
    const work = store.work('q', {drain: true, retryMin: 1, retryMax: 1});
    for await (const item of work) {
        items.push(item);
        await item.progress('half');
        assert.equal(String((await store.item('q', item.id)).progress), 'half');
        if (item.id === 'a') {
            await item.done('out');
            assert.match((await rejects(Error, item.done('other'))).message, /decided/);
            await rejects(LostError, item.progress('late'));
        } else if (item.id === 'b') {
            await item.done(Buffer.from([0, 255]), {keep: 600_000});
        } else if (item.id === 'd') {
            await item.done('');
        }
    }
    assert.deepEqual([work.counts.done, work.counts.lost, items.some(({isLost}) => isLost)], [4, 0, false]);
    assert.deepEqual(await Promise.all(['a', 'b', 'c', 'd'].map((id) => store.result('q', id, {wait: 0}))),
        [Buffer.from('out'), Buffer.from([0, 255]), null, null]);
    assert.equal((await store.item('q', 'a')).progress, null);
    assert.deepEqual([(await store.stats('q')).done, (await store.stats('q')).doneNow], [4, 4]);
});

test('a function decides on a result', async (store) => {
    await store.pushMany('q', [['a', '1'], ['b', '2']], {keep: 600_000});
    const counts = await store.runWorkers('q', async (item) => {
        await item.done(`${item.value}${item.value}`);
        return 'of no interest';
    }, {drain: true, workers: 2});
    assert.deepEqual([counts.done, counts.lost], [2, 0]);
    assert.deepEqual([String(await store.result('q', 'a')), String(await store.result('q', 'b'))], ['11', '22']);
});

test('a result that is refused', async (store) => {
    await store.push('q', 'a');
    const work = store.work('q', {retryMin: 3_600_000, retryMax: 3_600_000});
    const {value: item} = await work.next();
    for (const given of [[5], ['x', 5], ['x', {kepe: 1}], ['x', {keep: '1'}]]) {
        await rejects(TypeError, item.done(...given));
    }
    await rejects(RangeError, item.done('x'.repeat(65_537)));
    await rejects(TypeError, item.progress(5));
    await rejects(InvalidError, item.progress('x'.repeat(1025)));
    const year = 366 * 86_400_000;
    assert.match((await rejects(InvalidError, item.done('out', {keep: year + 1}))).message, /366 days/);
    await work.close();
    const {state, lastError} = await store.item('q', 'a');
    assert.deepEqual([state, work.counts.retried, (await store.stats('q')).done], ['delayed', 1, 0]);
    assert.match(String(lastError), /366 days/);
});

test('a claim that is lost leaves no result', async (store) => {
    await store.push('q', 'a', 'in', {keep: 600_000});
    const work = store.work('q', {ttl: 600_000});
    const {value: item} = await work.next();
    assert.equal(await store.break('q/a', {reason: 'a test', by: 'a test', atOnce: true}), 1);
    await rejects(LostError, item.done('out'));
    await work.close();
    assert.deepEqual([String((await store.item('q', 'a')).value), work.counts.lost], ['in', 1]);
});

test('the wait for a result ends: parked, removed, aborted, closed', async (store, url) => {
    await store.pushMany('q', [['a'], ['b']], {keep: 600_000});
    const parked = rejects(ItemParkedError, store.result('q', 'a'));
    await (await store.claim('q')).retry({park: true, error: 'no such sum', exitCode: 4});
    const error = await parked;
    assert.deepEqual([error.message, error.item.lastExit, error.outcome],
        ['the item is parked: exit 4, no such sum', 4, 'none']);
    const removed = rejects(NoItemError, store.result('q', 'b'));
    const abort = new AbortController();
    const aborted = rejects(Error, store.result('q', 'b', {signal: abort.signal}));
    const other = await lockkeeper.open(url);
    const closed = rejects(CancelledError, other.result('q', 'b'));
    abort.abort(new Error('no longer'));
    assert.equal((await aborted).message, 'no longer');
    await other.close();
    await closed;
    await store.drop('q', 'b');
    await removed;
});

test('an item that cannot succeed is parked', async (store) => {
    await store.pushMany('q', [['a'], ['b']]);
    const counts = await store.runWorkers('q', async (item) => {
        await rejects(TypeError, item.park(1));
        await item.park(new Error('no address'), {exitCode: 4});
        await rejects(Error, item.park());
    }, {drain: true, maxAttempts: 9});
    assert.deepEqual([counts.parked, counts.retried], [2, 2]);
    for (const {state, attempts, lastExit, lastError} of await store.items('q')) {
        assert.deepEqual([state, attempts, lastExit, String(lastError)], ['parked', 1, 4, 'Error: no address']);
    }
    assert.equal(await store.unpark('q'), 2);
    const claim = await store.claim('q', {maxAttempts: 9});
    await rejects(InvalidError, claim.retry({delay: 1, park: true}));
    await rejects(TypeError, claim.retry({park: 1}));
    await claim.retry({park: true, error: 'still none'});
    assert.deepEqual((await store.items('q')).map(({state}) => state), ['parked', 'ready']);
});

test('an item that is cancelled', async (store) => {
    const why = {reason: 'a test', by: 'ana'};
    await store.pushMany('q', [['a'], ['b']]);
    assert.equal(await store.cancel('q', 'b', why), false);
    await rejects(LostError, store.cancel('q', 'b', why));
    await rejects(InvalidError, store.cancel('q', 'a', {reason: '', by: 'ana'}));
    await rejects(TypeError, store.cancel('q', 1, why));
    const work = store.work('q', {ttl: 1000 * STRETCH});
    const {value: item} = await work.next();
    assert.equal(await store.cancel('q', 'a', why), true);
    assert(['cancelled', undefined].includes((await store.items('q'))[0]?.state)); // undefined: it was slow
    assert(await item.lost instanceof LostError && item.isLost && item.signal.aborted);
    await work.close();
    await until(async () => (await store.items('q')).length === 0, 'the end of the item, with its claim');
    await store.push('q', 'c');
    const claim = await store.claim('q');
    assert.equal(await store.cancel('q', 'c', {...why, atOnce: true}), true);
    assert.deepEqual(await store.items('q'), []);
    await rejects(LostError, claim.done());
});

// An item whose worker has no more time for its store, which is away.
async function stopping(work, file) {
    const {value: item} = await work.next();
    work.stop();
    move(file, `${place}/away`);
    return item;
}

test('an end that is not answered is asked for again', async () => {
    if (!onSqlite) {
        return; // there it takes the ten seconds for which an unreachable store is asked
    }
    const file = path.join(place, 'moved.db');
    const store = await lockkeeper.open(`sqlite:${file}`);
    for (const [call, reason] of [['giveBack'], ['park', 'no way'], ['retry', 'no route'], ['done'], ['done', 'out']]) {
        await store.push('q', 'a', null, {keep: reason === 'out' ? 600_000 : 0});
        const work = store.work('q', {retryMin: 1, retryMax: 1});
        const item = await stopping(work, file);
        for (let i = 0; i < 3; i += 1) {
            await rejects(UnavailableError, item[call](reason));
        }
        move(`${place}/away`, file);
        assert.equal((await store.stats('q')).claimedNow, 1);
        await item[call](reason);
        assert.equal((await store.stats('q')).claimedNow, 0);
        assert.match((await rejects(Error, item.done())).message, /decided/); // it is known
        assert.deepEqual([await work.next(), work.counts.unknown], [{value: undefined, done: true}, 1]);
        assert.equal(await store.unpark('q'), Number(call === 'park'));
    }
    assert.equal((await store.stats('q')).done, 2);
    assert.equal(String(await store.result('q', 'a')), 'out');
    assert.equal(await store.drop('q', 'a'), 1);
    await store.push('q', 'a');
    const work = store.work('q');
    await stopping(work, file);
    assert.equal((await work.next()).done, true); // the turn says nothing of the item before
    assert.deepEqual([work.counts.unknown, work.counts.done], [1, 0]);
    move(`${place}/away`, file);
    assert.equal((await store.stats('q')).claimedNow, 1);
    await store.close();
});

test('break and an error in the loop give the item back', async (store) => {
    await store.push('q', 'a');
    for await (const item of store.work('q')) {
        assert.equal(item.id, 'a');
        break;
    }
    assert.equal((await store.items('q'))[0].state, 'ready');
    await assert.rejects(async () => {
        for await (const item of store.work('q')) {
            throw new Error(item.id);
        }
    }, /a/);
    assert.equal((await store.items('q'))[0].state, 'ready');
    const work = store.work('q');
    const {value: item} = await work.next();
    await work.close();
    await rejects(Error, item.done());
    assert.deepEqual([(await work.next()).done, (await store.items('q'))[0].state], [true, 'ready']);
});

test('waiting work ends by a signal, and with the store', async (store, url) => {
    const abort = new AbortController();
    const waiting = store.work('q', {signal: abort.signal}).next();
    abort.abort();
    assert.equal((await rejects(Error, waiting)).name, 'AbortError');
    const other = await lockkeeper.open(url);
    const next = other.work('q').next();
    const watched = (await other.watch()).next();
    await other.close();
    assert.deepEqual([(await next).done, (await watched).done], [true, true]);
});

test('an abort ends the claiming; the handler decides on its item', async (store) => {
    await store.pushMany('q', [['a'], ['b'], ['c']]);
    const state = async (id) => (await store.items('q')).find((item) => item.id === id)?.state;
    const abort = new AbortController();
    const work = store.work('q', {signal: abort.signal});
    const {value: item} = await work.next();
    abort.abort();
    assert.deepEqual([await state('a'), item.signal.aborted, item.isLost], ['claimed', false, false]);
    assert(item.remaining > 0);
    assert.equal((await rejects(Error, work.next())).name, 'AbortError'); // says that it is done
    assert.deepEqual([await state('a'), await state('b'), work.counts.done], [undefined, 'ready', 1]);
    const again = new AbortController();
    await assert.rejects(async () => {
        for await (const {id} of store.work('q', {signal: again.signal})) {
            again.abort();
            assert.equal(await state(id), 'claimed');
            throw new Error('of the loop');
        }
    }, /of the loop/);
    const stopped = store.work('q');
    assert.equal((await stopped.next()).value.id, 'b');
    stopped.stop();
    assert.equal(await state('b'), 'claimed');
    assert.deepEqual([(await stopped.next()).done, stopped.counts.done, await state('c')], [true, 1, 'ready']);
    const never = store.work('q');
    never.stop();
    assert.equal((await never.next()).done, true);
});

test('an abort at any moment leaves no item claimed', async (store) => {
    for (let turns = 0; turns < 40; turns += 1) {
        await store.push('q', 'a');
        const abort = new AbortController();
        let handled = 0;
        const loop = (async () => {
            for await (const {id} of store.work('q', {signal: abort.signal})) {
                assert.equal(id, 'a');
                handled += 1;
            }
        })();
        for (let i = 0; i < turns; i += 1) {
            await new Promise(setImmediate);
        }
        abort.abort();
        assert.equal((await rejects(Error, loop)).name, 'AbortError');
        const left = await store.items('q');
        assert.deepEqual(left.map(({state}) => state), handled === 1 ? [] : ['ready']);
    }
});

test('runWorkers() ends when its handlers have ended', async (store, url) => {
    await store.pushMany('q', [['a'], ['b']]);
    for (const end of ['an abort', 'the end of the store']) {
        const other = await lockkeeper.open(url);
        const abort = new AbortController();
        const held = [];
        let isOver = false;
        const pool = other.runWorkers('q', (item) => new Promise((resolve, reject) => {
            held.push({item, resolve, reject});
        }), {workers: 2, signal: abort.signal}).finally(() => {
            isOver = true;
        });
        await until(() => held.length === 2, 'two handlers');
        const closing = end === 'an abort' ? abort.abort() : other.close();
        await store.push('q', 'c');
        assert.deepEqual((await store.items('q')).map(({state}) => state), ['claimed', 'claimed', 'ready']);
        assert.deepEqual([isOver, held[0].item.signal.aborted], [false, false]);
        held[0].resolve();
        held[1].reject(end === 'an abort' ? abort.signal.reason : new ClosedError());
        if (end === 'an abort') {
            assert.equal(await rejects(Error, pool), abort.signal.reason);
        } else {
            assert.equal((await pool).done, 1);
        }
        await closing;
        const left = await store.items('q');
        assert.deepEqual(left.map(({id, state, lastError}) => [id, state, lastError]),
            [[held[1].item.id, 'ready', null], ['c', 'ready', null]]); // one is done, one has not failed
        assert.equal(held.length, 2);
        await other.close();
        await store.push('q', 'd');
        await store.drop('q', 'c');
    }
});

test('handlers that throw, and one that closes its store', async (store) => {
    await store.pushMany('q', [['number'], ['name'], ['close'], ['more']]);
    let refused;
    const counts = await store.runWorkers('q', async ({id, attempt}) => {
        if (id === 'close') {
            refused = await rejects(Error, store.close());
        } else if (attempt === 1 && id !== 'more') {
            throw id === 'number' ? 5 : new DOMException('a timeout of its own', 'AbortError');
        }
    }, {drain: true, retryMin: 1, retryMax: 2});
    assert.match(refused.message, /a handler cannot close/);
    assert.deepEqual([counts.done, counts.retried, store.closed], [4, 2, false]);
});

test('a worker that is killed: the item is claimed again', async (store, url) => {
    await store.push('q', 'a');
    const other = program(url, `for await (const item of store.work('q', {ttl: ${300 * STRETCH}})) {
            say(item.id);
            await hear();
        }`);
    assert.equal(await other.heard(), 'a');
    other.kill();
    await until(async () => (await store.items('q'))[0].state === 'ready', 'the end of the claim');
    const work = store.work('q', {drain: true});
    const {value: item} = await work.next();
    assert.deepEqual([item.id, item.attempt, item.isStolen], ['a', 2, true]);
    await item.done();
    assert.equal((await work.next()).done, true);
});

test('a claim that is broken is lost', async (store) => {
    await store.push('q', 'a');
    const work = store.work('q', {ttl: 3000 * STRETCH});
    const {value: item} = await work.next();
    item.check();
    assert.equal(await store.break('q/a', {reason: 'a test', by: 'a test', atOnce: true}), 1);
    const error = await item.lost; // the handler is told
    assert(error instanceof LostError && item.isLost);
    assert.deepEqual([item.signal.aborted, item.signal.reason], [true, error]);
    assert.throws(() => item.check(), LostError);
    await rejects(LostError, item.done());
    await work.close();
});

test('a handler whose work is closed is told before its item goes back', async (store, url) => {
    await store.push('q', 'a');
    for (const close of [(other, work) => work.close(), (other) => other.close()]) {
        const other = await lockkeeper.open(url);
        const work = other.work('q');
        const {value: item} = await work.next();
        assert.equal(item.isLost, false);
        const closing = close(other, work);
        assert(await item.lost instanceof ClosedError && item.isLost);
        await closing;
        assert.equal((await store.items('q'))[0].state, 'ready');
        await other.close();
    }
});

test('several workers', async (store) => {
    await store.pushMany('q', Array.from({length: 30}, (_, i) => [`i${i}`, String(i)]));
    const seen = new Set();
    const counts = await store.runWorkers('q', async (item) => {
        assert(!seen.has(item.id));
        seen.add(item.id);
    }, {workers: 4, drain: true});
    assert.deepEqual([seen.size, counts.done], [30, 30]);
});

test('work over the rows of a table', async (store) => {
    const table = {name: 'orders', where: 'sent = 0', order: 'id DESC',
        done: 'UPDATE orders SET sent = :attempt WHERE id = :id'};
    if (!onSqlite) {
        await rejects(lockkeeper.UnsupportedError, store.work(null, {table}).next());
        return;
    }
    const file = path.join(place, 'app.db');
    const sql = (statement) => execFileSync('sqlite3', [file, statement], {encoding: 'utf8'}).trim();
    sql('CREATE TABLE orders (id INTEGER PRIMARY KEY, sent INTEGER);'
        + 'INSERT INTO orders VALUES (1, 0), (2, 1), (3, 0)');
    const application = await lockkeeper.open(`sqlite:${file}?share=yes`);
    const seen = [];
    const work = application.work(null, {table, drain: true});
    for await (const item of work) {
        seen.push([item.queue, item.rowId, item.attempt]);
    }
    assert.deepEqual(seen, [['orders', '3', 1], ['orders', '1', 1]]);
    assert.deepEqual([work.counts.announced, work.counts.done], [2, 2]);
    assert.equal(sql('SELECT sum(sent) FROM orders'), '3');
    sql('UPDATE orders SET sent = 0 WHERE id = 2');
    for await (const item of application.work(null, {table})) {
        assert.equal(item.rowId, '2');
        break; // given back: its row stays as it is
    }
    assert.equal(sql('SELECT sent FROM orders WHERE id = 2'), '0');
    const counts = await application.runWorkers(null, async () => undefined, {table, workers: 2, drain: true});
    assert.deepEqual([counts.done, sql('SELECT sent > 0 FROM orders WHERE id = 2')], [1, '1']);
    await rejects(lockkeeper.InvalidError, application.work(null, {table: {name: 'absent'}}).next());
    await application.close();
});

test('events in order, with a position to resume from', async (store) => {
    const watch = await store.watch('db');
    await (await store.lock('other')).release();
    await (await store.lock('db/t', {owner: 'ana', note: 'why'})).release();
    const first = (await watch.next()).value;
    assert.deepEqual([first.kind, first.paths, first.owner, first.note], ['granted', ['db/t'], 'ana', 'why']);
    assert.equal(watch.position, first.sequence);
    const again = await store.watch('db', {after: watch.position});
    for (const one of [watch, again]) {
        const second = (await one.next()).value;
        assert.deepEqual([second.kind, second.sequence > first.sequence], ['released', true]);
    }
    assert.equal(await watch.take({wait: 0}), null);
    const abort = new AbortController();
    const waiting = watch.take({signal: abort.signal});
    abort.abort();
    assert.equal((await rejects(Error, waiting)).name, 'AbortError');
    await store.put('db/v', 'x');
    for await (const event of again) {
        assert.equal(event.kind, 'value_written');
        break;
    }
    await watch.close();
    assert.equal((await watch.next()).done, true);
    await rejects(ClosedError, watch.take());
});

test('bad input', async (store) => {
    for (const [queue, options] of [[5], [undefined], ['a\0b'], ['q', {drian: true}], ['q', {ttl: 'x'}], ['q', null],
        ['q', {table: 'orders'}], ['q', {table: {nam: 'x'}}], ['q', {signal: 5}]]) {
        await rejects(TypeError, async () => store.work(queue, options));
    }
    await rejects(lockkeeper.InvalidError, store.work('x'.repeat(600)).next());
    await rejects(lockkeeper.InvalidError, store.push('q', 'a/b'));
    await rejects(lockkeeper.InvalidError, store.push('q', 'a', Buffer.alloc(65_537)));
    await rejects(TypeError, store.push('q', 5));
    await rejects(TypeError, store.push('q', 'a', 5));
    await rejects(RangeError, store.push('q', 'a', null, {priority: 2 ** 40}));
    await rejects(TypeError, store.watch(5));
    await rejects(RangeError, store.watch('t', {after: -1}));
    await until(async () => (await store.items('q')).length === 0);
});

main();
