// SPDX-License-Identifier: Apache-2.0
'use strict';
// Leases that the library keeps alive.
const util = require('node:util');
const {native, nextNumber, listen, unlisten} = require('./native');
const {LostError, check, outcomeOf} = require('./errors');
const argument = require('./arguments');
const {partsOf} = require('./scopes');

const asyncDispose = Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose');

// A lease that is only collected is renewed no more, and ends at its deadline.
const collected = new FinalizationRegistry(({handle, number, paths}) => {
    unlisten(number);
    if (native.leaseHeld(handle)) {
        native.leaseAbandon(handle);
        process.emitWarning(`the lease of ${paths.join(' ')} was not released`, 'LockkeeperWarning');
    }
});

// Leases whose loss may be waited for. What waits is often reached from the lease alone, as an async
// function is that awaits `lost`: it would be collected with its lease, and neither renewed nor told.
const awaited = new Set();

class Lease {
    #store;
    #request;
    #result;
    #parts; // as partsOf() has them
    #handle;
    #number;
    #abort = new AbortController();
    #lost;
    #tellLost;
    #isAwaited = false;
    #ending; // the promise of a release in progress

    constructor(store, request, answer) {
        this.#store = store; // the store is not collected before its leases
        this.#request = request;
        this.#lost = new Promise((resolve) => {
            this.#tellLost = resolve;
        });
        this.#hold(answer);
    }

    #hold(answer) {
        this.#result = answer.result;
        this.#parts = partsOf(this.#request.parts, this.paths, this.#request);
        this.#handle = answer.lease;
        this.#number = nextNumber();
        listen(this.#number, this);
        collected.register(this, {handle: this.#handle, number: this.#number, paths: this.paths}, this);
        native.leaseWatch(this.#handle, this.#number);
        if (this.#isAwaited) {
            awaited.add(this);
        }
    }

    #forget() {
        awaited.delete(this);
        collected.unregister(this);
        unlisten(this.#number);
    }

    #await() {
        if (!this.#isAwaited && !this.isLost && native.leaseHeld(this.#handle)) {
            awaited.add(this);
        }
        this.#isAwaited = true;
    }

    // The store is closed, and its leases end without a notice.
    static _closed(store) {
        for (const lease of awaited) {
            if (lease.#store === store) {
                awaited.delete(lease);
            }
        }
    }

    _hear() {
        awaited.delete(this);
        if (!this.#abort.signal.aborted) {
            const error = new LostError('the lease is lost');
            this.#tellLost(error);
            this.#abort.abort(error);
        }
    }

    // The fencing token. Pass it to the resource, and let that refuse smaller ones.
    get token() {
        return this.#result.token;
    }

    get tokens() {
        return this.#result.tokens;
    }

    get owner() {
        return this.#result.owner;
    }

    get paths() {
        return this.#result.paths;
    }

    get values() {
        return this.#result.values;
    }

    get value() {
        return this.values[0]?.data ?? null;
    }

    get inDoubt() {
        return this.values[0]?.inDoubt ?? false;
    }

    // Is fulfilled with a LostError when the lease is found lost; never, if it is released before.
    get lost() {
        this.#await();
        return this.#lost;
    }

    // Is aborted when the lease is found lost, with that error as its reason.
    get signal() {
        this.#await();
        return this.#abort.signal;
    }

    get isLost() {
        return this.#abort.signal.aborted || native.leaseLost(this.#handle);
    }

    // Milliseconds for which the lease is held for certain; 0 when it is lost or has ended.
    get remaining() {
        return native.leaseRemaining(this.#handle);
    }

    // Throws LostError unless the lease is held.
    check() {
        if (this.isLost) {
            throw new LostError('the lease is lost');
        }
        if (!native.leaseHeld(this.#handle)) {
            throw new LostError('the lease has ended');
        }
    }

    // Ends the lease; `put` is written in the same step. UnavailableError: unknown; to call it again asks
    // again. Once it is known to have ended, a further release does nothing. A lease with `atLeast` stays
    // until that is over, unless `now`.
    async release(options) {
        const {put, now = false} = argument.options(options, {put: argument.puts, now: argument.flag});
        while (this.#ending !== undefined) {
            await this.#ending.catch(() => undefined);
        }
        this.#ending = this.#release(put, now);
        try {
            await this.#ending;
        } finally {
            this.#ending = undefined;
        }
    }

    async #release(put, now) {
        const answer = await (now && put === undefined
            ? native.leaseReleaseNow(this.#handle)
            : native.leaseRelease(this.#handle, put));
        if (answer === null) {
            if (put !== undefined) {
                throw new LostError('the lease has ended');
            }
            return;
        }
        if (!native.leaseHeld(this.#handle)) {
            this.#forget();
        }
        this.#end(answer);
    }

    #end(answer) {
        if (outcomeOf(answer) === 'lost') {
            this._hear();
        }
        check(answer);
    }

    // Whether it is a lease of that store, and has not ended.
    _isOf(url) {
        return this.#store.url === url && native.leaseHeld(this.#handle);
    }

    get _parts() {
        return this.#parts;
    }

    // Whether it ends by itself, however long its scope lasts.
    get _isFixed() {
        return this.#result.fixed || this.#request.until !== undefined;
    }

    [util.inspect.custom]() {
        const state = this.isLost ? 'lost' : native.leaseHeld(this.#handle) ? 'held' : 'ended';
        return `Lease {${this.paths.join(' ')}, token ${this.token}, ${state}}`;
    }

    // Stops the keep-alive: the lease ends at its deadline.
    async abandon() {
        this.#forget();
        await native.leaseAbandon(this.#handle);
    }

    // Writes a value at a path that the lease covers (the first part's), only while it is held.
    async put(value, path = this.paths[0]) {
        this.check();
        await this.#store.put(path, value, {owner: this.owner, token: this.token});
    }

    // Changes modes, limits or units in place (rule R9). Does not wait: BusyError, and the lease stays.
    async convert(...given) {
        const parts = typeof given[0] === 'string' || Array.isArray(given[0]) ? given.shift() : this.paths;
        const {flag, count, duration} = argument;
        const options = argument.options(given[0], {shared: flag, limit: count, units: count, ttl: duration});
        this.check();
        const {ttl, until, value, bound, atLeast} = this.#request;
        const request = {...(options.ttl === undefined ? {ttl, until} : {}), value, bound, atLeast, ...options,
            parts: argument.texts(parts, 'parts'), owner: this.owner, style: native.constants.LK_TRY};
        const former = this.#handle;
        unlisten(this.#number); // a new token ends the former handle
        let answer;
        try {
            answer = await this.#store._acquire(request);
        } finally {
            listen(this.#number, this);
        }
        if (outcomeOf(answer) !== 'granted' || answer.lease === undefined) {
            if (native.leaseLost(former)) {
                this._hear();
                throw new LostError('the lease is lost');
            }
            check(answer);
        }
        this.#forget();
        await native.leaseAbandon(former);
        if (answer.result.created) {
            await native.leaseReleaseNow(answer.lease);
            this._hear();
            throw new LostError('the lease had ended before it was converted');
        }
        this.#request = request;
        this.#hold(answer);
    }

    // What `await using` takes at its begin, and calls at its end. A lease that has ended is no scope: the
    // block would run without it.
    get [asyncDispose]() {
        this.check();
        return this.#dispose;
    }

    #dispose = () => this.release();
}

module.exports = {Lease, asyncDispose};
