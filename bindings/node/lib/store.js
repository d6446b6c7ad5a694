// SPDX-License-Identifier: Apache-2.0
'use strict';
// Stores: locks, values, queues and administration.
const util = require('node:util');
const {native} = require('./native');
const {BusyError, CancelledError, ClosedError, DeadlockError, ItemParkedError, check, errorOf, outcomeOf, OUTCOMES} =
    require('./errors');
const argument = require('./arguments');
const {Lease, asyncDispose} = require('./lease');
const claims = require('./claims');
const {Watch} = require('./watch');
const {Work, runWorkers} = require('./work');
const scopes = require('./scopes');

const {text, texts, flag, big, bytes, options: optionsOf, REQUEST} = argument;
const {wait: _, ...TRY} = REQUEST;
const {LK_MANY_MAX: MANY_MAX, LK_TRY} = native.constants;
const BLOCKERS_MAX = 1024; // that an answer names; bindings/abi compares it
const BOUNDS = ['live', 'livePerOwner', 'livePerRoot', 'waitersPerPath', 'events'];
const PUSH_MANY = {again: flag, replace: flag, keep: argument.milliseconds};
const PUSH = {delay: argument.milliseconds, needs: texts, priority: argument.int32, ...PUSH_MANY};
const optional = (value, name) => (value === undefined || value === null ? undefined : text(value, name));

// Takes back what was granted to a call that has ended. What its owner held before the call stays.
function releaseGranted({lease, result}) {
    return lease !== undefined && (result.created ? native.leaseReleaseNow(lease) : native.leaseAbandon(lease));
}

class Store {
    #handle;
    #url;
    #closing;
    #inside = new Set(); // promises of calls
    #cancels = new Set(); // of waits
    #parts = new Set(); // works and watches, to be closed first

    constructor(answer) {
        this.#handle = answer.store;
        this.#url = answer.url;
    }

    // The URL, without any password.
    get url() {
        return this.#url;
    }

    [util.inspect.custom]() {
        return `Store {${this.#url}${this.closed ? ', closed' : ''}}`;
    }

    get closed() {
        return this.#closing !== undefined;
    }

    // Milliseconds for which the store has not answered; 0 while it does.
    get away() {
        return this.closed ? 0 : native.away(this.#handle) ?? 0;
    }

    // Ends waits (CancelledError) and loops, and waits for the handlers of runWorkers(). Leases that are
    // still held are renewed no more.
    async close() {
        if (scopes.isHandling(this)) {
            throw new Error('a handler cannot close the store that it works for');
        }
        this.#closing ??= this.#close();
        await this.#closing;
    }

    async #close() {
        await undefined; // closed is true from here on
        for (const cancel of this.#cancels) {
            native.cancelNow(cancel);
        }
        await Promise.allSettled([...this.#parts].map((part) => part._end()));
        await Promise.allSettled([...this.#inside]);
        await native.close(this.#handle);
        Lease._closed(this);
    }

    [asyncDispose]() {
        return this.close();
    }

    // The answer of a native function, whatever it is. close() waits for it.
    async _ask(name, ...given) {
        if (this.closed) {
            throw new ClosedError();
        }
        return this._inside(native[name](this.#handle, ...given));
    }

    // A promise that close() waits for.
    async _inside(call) {
        this.#inside.add(call);
        try {
            return await call;
        } finally {
            this.#inside.delete(call);
        }
    }

    // _ask() also while the store closes: for what a call takes back in _inside().
    _undo(name, ...given) {
        return native[name](this.#handle, ...given);
    }

    async #checked(name, ...given) {
        return check(await this._ask(name, ...given));
    }

    // A call that may wait, until `signal` or the end of the store ends that. `undo` takes back what was
    // granted all the same.
    async _wait(signal, call, undo) {
        signal?.throwIfAborted();
        if (this.closed) {
            throw new ClosedError();
        }
        const cancel = native.cancelMake();
        const abort = () => native.cancelNow(cancel);
        signal?.addEventListener('abort', abort, {once: true});
        this.#cancels.add(cancel);
        let answer;
        try {
            answer = await call(cancel);
        } finally {
            this.#cancels.delete(cancel);
            signal?.removeEventListener('abort', abort);
        }
        if (signal?.aborted) {
            await undo(answer);
            throw signal.reason;
        }
        return answer;
    }

    _part(part) {
        this.#parts.add(part);
    }

    _partEnded(part) {
        this.#parts.delete(part);
    }

    // ---- locks ----

    _acquire(request, cancel) {
        return this._ask('acquire', request, cancel);
    }

    // Waits until all parts, PATH[?shared][?limit=N[&units=U]], are granted together.
    async lock(parts, options) {
        const {signal, ...request} = optionsOf(options, REQUEST);
        request.parts = texts(parts, 'parts');
        if (request.wait === 0) {
            request.style = LK_TRY;
        }
        const own = scopes.leases().filter((lease) => lease._isOf(this.#url));
        if (own.length > 0 && (request.wait ?? argument.FOREVER) === argument.FOREVER) {
            const lease = await this.#lockBeside(own, request, signal);
            if (lease !== undefined) {
                return lease;
            }
        }
        return this.#granted(request, await this.#ask(request, signal));
    }

    // The answer to a request, which is released again if the signal ends the call.
    #ask(request, signal) {
        return this._wait(signal, (cancel) => this._acquire(request, cancel), releaseGranted);
    }

    async #granted(request, answer) {
        check(answer);
        if (this.closed) {
            await releaseGranted(answer);
            throw new CancelledError('the store was closed');
        }
        return new Lease(this, request, answer);
    }

    // Tries before a wait without limit: undefined, unless that would wait for the end of the very scope
    // that waits.
    async #lockBeside(own, request, signal) {
        const answer = await this.#ask({...request, style: LK_TRY, blockersMax: BLOCKERS_MAX}, signal);
        const outcome = outcomeOf(answer);
        // a store that has not answered for as long as was named is not asked for as long again
        if (outcome === 'granted' || (outcome === 'unavailable' && request.patience !== undefined)) {
            return this.#granted(request, answer);
        }
        const blockers = answer.result?.blockers ?? [];
        const lease = outcome === 'busy' && scopes.inTheWay(
            own, scopes.partsOf(request.parts, answer.result?.paths, request), blockers);
        if (lease) {
            const asker = request.owner === undefined ? [] : [request.owner];
            throw new DeadlockError(`${request.parts.join(' ')} would wait for ever for the lease of `
                + `${lease.paths.join(' ')}, which the scope around this call holds as ${lease.owner}; give both `
                + 'one owner, or release it before', {blockers, cycle: [...asker, lease.owner]});
        }
        return undefined;
    }

    // lock() without waiting. null: another owner is in the way.
    async tryLock(parts, options) {
        try {
            return await this.lock(parts, {...optionsOf(options, TRY), wait: 0});
        } catch (error) {
            if (error instanceof BusyError) {
                return null;
            }
            throw error;
        }
    }

    // Calls a function with the lease, and releases that behind it, also after an error.
    async with(parts, ...given) {
        const call = given.pop();
        if (typeof call !== 'function') {
            throw new TypeError('the last argument must be a function');
        }
        const lease = await this.lock(parts, given[0]);
        let result;
        try {
            result = await scopes.holding(lease, () => call(lease));
        } catch (error) {
            await lease.release().catch(() => undefined); // the error of the scope says more
            throw error;
        }
        await lease.release();
        return result;
    }

    // ---- requests without keep-alive ----

    // A lease that another process may renew or release. style: "try" (unless set), "queue", "wait".
    async ask(parts, options) {
        const {signal, style = LK_TRY, ...request} = optionsOf(options, {...REQUEST, style: argument.style});
        Object.assign(request, {parts: texts(parts, 'parts'), style, outlives: true});
        const forget = ({outcome, result}) => OUTCOMES[outcome] === 'granted' && result.created && this._ask(
            'release', {parts: request.parts, owner: result.owner}, result.token);
        const answer = await this._wait(signal, (cancel) => this._ask('ask', request, cancel), forget);
        return this.#answered(answer, 'waiting');
    }

    #answered(answer, ...good) {
        if (!good.includes(outcomeOf(answer))) {
            check(answer);
        }
        return {...answer.result, outcome: OUTCOMES[answer.outcome]};
    }

    async renew(parts, options) {
        const {token, ...request} = optionsOf(
            options, {owner: text, token: argument.token, ttl: argument.duration});
        return this.#answered(await this._ask('renew', {...request, parts: texts(parts, 'parts')}, token));
    }

    async release(parts, options) {
        const {token, put, ...request} = optionsOf(
            options, {owner: text, token: argument.token, put: argument.puts});
        return this.#answered(
            await this._ask('release', {...request, parts: texts(parts, 'parts')}, token, put));
    }

    // ---- values ----

    // {data, inDoubt}; null: there is none.
    async read(path) {
        const answer = await this._ask('valueGet', text(path, 'path'));
        if (outcomeOf(answer) === 'none') {
            return null;
        }
        const {data, inDoubt} = check(answer);
        return {data, inDoubt};
    }

    async get(path) {
        return (await this.read(path))?.data ?? null;
    }

    async put(path, value, options) {
        const {owner, token} = optionsOf(options, {owner: text, token: argument.token});
        await this.#checked('valuePut', text(path, 'path'), bytes(value, 'the value'), owner, token);
    }

    async del(path, options) {
        const {owner, token} = optionsOf(options, {owner: text, token: argument.token});
        await this.#checked('valuePut', text(path, 'path'), null, owner, token);
    }

    // Iterates over {path, size, inDoubt} of all values at or below the prefix.
    async *values(prefix) {
        const below = optional(prefix, 'prefix');
        let reached;
        do {
            const page = await this.#checked('values', below, reached);
            yield* page.values;
            reached = page.reached;
        } while (reached !== null);
    }

    // ---- queues ----

    // Adds an item. false: the queue has one with this id, which stays as it is. `again`: that item gets this
    // value, priority, delay and needs, also if it is parked; if it is claimed, it is worked on once more when
    // the claim ends. `replace`: only while it waits to be claimed. Not both. `keep`: once it is done, it is
    // kept with its result for so many milliseconds.
    async push(queue, id, value, options) {
        return (await this.pushItem(queue, id, value, options)).added;
    }

    // push(), with what it has found: {added, changed, was}, the item's state before, or null.
    async pushItem(queue, id, value, options) {
        const item = optionsOf(options, PUSH);
        item.id = text(id, 'id');
        if (value !== undefined && value !== null) {
            item.value = bytes(value, 'the value');
        }
        const {added, changed, was} = await this.#checked('push', text(queue, 'queue'), [item]);
        return {added: added === 1, changed: changed === 1, was};
    }

    // Adds items, [id, value] each: up to 1000 in one step, more in several. `again`, `replace` and `keep`
    // hold for each of them, as in push().
    async pushMany(queue, items, options) {
        const name = text(queue, 'queue');
        const how = optionsOf(options, PUSH_MANY);
        const all = Array.from(items, ([id, value]) => ({
            ...how, id: text(id, 'id'),
            ...(value === undefined || value === null ? {} : {value: bytes(value, 'the value')}),
        }));
        const counts = {added: 0, duplicates: 0, changed: 0};
        for (let first = 0; first < all.length; first += MANY_MAX) {
            const some = await this.#checked('push', name, all.slice(first, first + MANY_MAX));
            counts.added += some.added;
            counts.duplicates += some.duplicates;
            counts.changed += some.changed;
        }
        return counts;
    }

    // A loop over items, each with its claim: for await (const item of store.work('mails')).
    work(queue, options) {
        if (this.closed) {
            throw new ClosedError();
        }
        return new Work(this, queue, options);
    }

    // The handle for a work's own calls.
    _feed(feed, options) {
        return this._ask('feedRun', feed, options);
    }

    // Calls a function with each item, `workers` of them at once; done when it returns, retried when it
    // throws. Returns when drained; the sums of the counts. All handlers have ended then, in every case.
    async runWorkers(queue, handle, options) {
        if (this.closed) {
            throw new ClosedError();
        }
        return this._inside(runWorkers(this, queue, handle, options));
    }

    // Claims the first item that is due, for calls of its own to keep and end. null: there was none
    // within `wait` milliseconds (0 unless given).
    claim(queue, options) {
        return claims.claim(this, queue, options);
    }

    // Claims up to `max` items, 256 at most, in one step, as soon as there is one. They have one owner and
    // one token, and each is a claim of its own.
    claimMany(queue, max, options) {
        return claims.claimMany(this, queue, max, options);
    }

    // Ends the claim of an owner, and removes the item, or keeps it with its result, as Claim.done() does.
    done(queue, id, options) {
        return claims.done(this, queue, id, options);
    }

    // Says how far the work on a claimed item is, as Claim.progress() does.
    progress(queue, id, text, options) {
        return claims.progress(this, queue, id, text, options);
    }

    // done() for up to 1000 claims of one owner, in one step. Returns how many are done: the others are lost.
    doneMany(queue, ids, options) {
        return claims.doneMany(this, queue, ids, options);
    }

    // Gives the item of a claim back, as Claim.retry() does.
    retry(queue, id, options) {
        return claims.retry(this, queue, id, options);
    }

    async items(queue) {
        return (await this.#checked('items', text(queue, 'queue'))).items;
    }

    // One item in any state; null: there is none, or it was done and is not kept any more.
    async item(queue, id) {
        const answer = await this._ask('item', text(queue, 'queue'), text(id, 'id'));
        return outcomeOf(answer) === 'none' ? null : check(answer).items[0];
    }

    // Waits until the item is done, and returns its result; null: it was done without one. The push or the
    // done must keep it: `keep`. `wait`: then TimeoutError; 0: looks once. ItemParkedError: it is parked.
    // NoItemError: it was done and is not kept (any more), dropped or cancelled, or never was.
    async result(queue, id, options) {
        const {wait, signal} = optionsOf(options, {wait: argument.wait, signal: argument.abortable});
        const named = [text(queue, 'queue'), text(id, 'id')];
        const answer = await this._wait(
            signal, (cancel) => this._ask('itemWait', ...named, cancel, wait), () => undefined);
        const [item] = check(answer).items;
        if (item.state === 'parked') {
            throw new ItemParkedError(item);
        }
        return item.value;
    }

    async stats(queue) {
        return (await this.#checked('stats', text(queue, 'queue'))).stats;
    }

    async queues(prefix) {
        return (await this.#checked('queues', optional(prefix, 'prefix'))).queues;
    }

    // Makes a parked item ready again, or all of the queue. Returns their number.
    async unpark(queue, id) {
        return (await this.#checked('unpark', text(queue, 'queue'), optional(id, 'id'))).count;
    }

    // Removes items that are not claimed; without ids, all that are parked. Returns how many.
    async drop(queue, ...ids) {
        const answer = await this._ask('drop', text(queue, 'queue'), texts(ids, 'ids'));
        if (outcomeOf(answer) !== 'lost') {
            check(answer);
        }
        return answer.count;
    }

    // Removes an item for good, at once if it is not claimed. A claim is revoked, so its worker ends; the item
    // is 'cancelled' until then, and goes with the claim; `atOnce`: now, which is unsafe while its worker may
    // still be at it. Returns whether it was claimed.
    async cancel(queue, id, options) {
        const given = optionsOf(options, {reason: text, by: text, atOnce: flag});
        return (await this.#checked('cancelItem', text(queue, 'queue'), text(id, 'id'), given)).isClaimed;
    }

    // ---- events ----

    // Begins to watch: no event after this is missed. for await (const event of await store.watch())
    async watch(prefix, options) {
        const {after, signal} = optionsOf(options, {after: big, signal: argument.abortable});
        signal?.throwIfAborted();
        const answer = check(await this._ask('watchOpen', optional(prefix, 'prefix'), after));
        if (this.closed) {
            await native.watchClose(answer.watch);
            throw new ClosedError();
        }
        return new Watch(this, answer.watch, signal);
    }

    // ---- listing and administration ----

    async list(prefix) {
        return (await this.#checked('list', optional(prefix, 'prefix'))).entries;
    }

    async show(path) {
        return (await this.#checked('show', text(path, 'path'))).entries;
    }

    // Ends requests with a part at exactly this path (rule R12). Returns their number.
    async break(path, options) {
        const given = optionsOf(options, {reason: text, by: text, owner: text, atOnce: flag});
        return (await this.#checked('break', text(path, 'path'), given)).count;
    }

    // The bounds that the store keeps (rule R22). 0: none.
    async limits() {
        return (await this.#checked('limits')).limits;
    }

    // Sets bounds by those names. Those that are not named stay.
    async setLimits(bounds) {
        const allowed = Object.fromEntries(BOUNDS.map((name) => [name, argument.bound]));
        await this.#checked('limits', optionsOf(bounds ?? {}, allowed, 'the bounds'));
    }

    // What `lk doctor` prints.
    async examine() {
        const {report, warnings, roundTripUs, clockOffsetUs} = await this.#checked('examine');
        return {text: report, warnings: warnings.split('\n').filter(Boolean),
            roundTrip: roundTripUs / 1000, clockOffset: clockOffsetUs / 1000};
    }

    // Copies the whole store to a new file.
    async backup(path) {
        await this.#checked('backup', text(path, 'path'));
    }
}

// Opens a store: sqlite:PATH, lk://HOST, postgresql://HOST/DATABASE, ... Without a URL the one that lk uses.
async function open(url) {
    const answer = await native.open(optional(url, 'url'));
    if (outcomeOf(answer) !== 'ok') {
        throw errorOf(answer);
    }
    return new Store(answer);
}

module.exports = {Store, open};
