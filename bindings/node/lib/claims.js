// SPDX-License-Identifier: Apache-2.0
'use strict';
// Claims by hand: items that are claimed, kept and ended by calls of their own (rule R16), perhaps of
// several processes. Nothing renews such a claim but renew(). work() and runWorkers() do all of it.
const {native} = require('./native');
const {CancelledError, check, outcomeOf} = require('./errors');
const argument = require('./arguments');

const CLOCK_DRIFT = 1 / 2000; // of the clocks of two machines, as in the C library
const {text, texts, count, duration, options: optionsOf} = argument;
const ONE = {wait: argument.wait, ttl: duration, owner: text, maxAttempts: count, note: text,
    patience: duration, table: argument.table, signal: argument.abortable};
const {table: _, ...MANY} = ONE;
const RETRY = {delay: argument.milliseconds, error: argument.failure, exitCode: argument.int32,
    uncounted: argument.flag, park: argument.flag};
const KEEP = {keep: argument.milliseconds};
const DONE = {...KEEP, result: argument.note, table: argument.table};

// A claimed item: queue, id, value, token, attempt, isStolen, owner, rowId and the claim's ttl.
class Claim {
    #store;
    #table;
    #deadline;

    constructor(store, table, {deadline, ...fields}) {
        Object.assign(this, fields);
        this.#store = store;
        this.#table = table;
        this.#deadline = deadline;
    }

    // Milliseconds for which the claim may be relied on; 0: its deadline has passed.
    get remaining() {
        return Math.max(0, Math.floor(this.#deadline - native.now()));
    }

    #named() {
        return {owner: this.owner, token: this.token};
    }

    // Moves the deadline: `ttl` from now on, the claim's own unless it is given.
    async renew(options) {
        const {ttl = this.ttl} = optionsOf(options, {ttl: duration});
        const asked = native.now();
        const answer = await this.#store.renew(`${this.queue}/${this.id}`, {...this.#named(), ttl});
        this.#deadline = asked + answer.expiresIn * (1 - CLOCK_DRIFT);
        return answer;
    }

    // The item is done and removed, or kept with its result: for `keep`, or as long as its push says, if
    // that is longer. Of a table's row, which has no result, the table's `done` runs.
    async done(result, options) {
        await this.#store.done(this.queue, this.id,
            {...optionsOf(options, KEEP), ...this.#named(), result, table: this.#table});
    }

    // Says how far the work is, in up to 1024 bytes, which listings show; null: no more.
    async progress(text) {
        await this.#store.progress(this.queue, this.id, text, this.#named());
    }

    // Gives the item back, to be claimed again after `delay`, or parked. `error` and `exitCode`: why.
    // `uncounted`: the attempt does not count, and the item is not parked by its attempts. `park`: it is
    // parked, whatever its attempts, and has no delay.
    async retry(options) {
        await this.#store.retry(this.queue, this.id, {...optionsOf(options, RETRY), ...this.#named()});
    }
}

// What is asked of the store; a claim is a try unless `wait` is given.
function requestOf(queue, options, allowed) {
    const {signal, ...request} = {wait: 0, ...optionsOf(options, allowed)};
    if (queue !== undefined && queue !== null) {
        request.queue = text(queue, 'queue');
    } else if (request.table === undefined) {
        throw new TypeError('a queue is needed');
    }
    return {request, signal};
}

// The claims of one call; none: there was nothing to claim. What no code waits for any more goes back.
async function claims(store, {request, signal}, max) {
    const giveBack = (answer) => Promise.all((answer.claims ?? []).map(
        (one) => store._undo('retry', one, undefined, undefined, undefined, true)));
    const answer = await store._wait(
        signal, (cancel) => store._ask('claim', request, cancel, max), giveBack);
    if (['busy', 'timeout'].includes(outcomeOf(answer))) {
        return [];
    }
    check(answer);
    if (store.closed) {
        await giveBack(answer);
        throw new CancelledError('the store was closed');
    }
    return answer.claims.map((one) => new Claim(store, request.table, one));
}

async function claim(store, queue, options) {
    const [one = null] = await store._inside(claims(store, requestOf(queue, options, ONE)));
    return one;
}

async function claimMany(store, queue, max, options) {
    argument.number(max, 'max', 1, native.constants.LK_CLAIMS_MAX);
    return store._inside(claims(store, requestOf(queue, options, MANY), max));
}

// Whose claim is to end, and what else the options say. Without a token: that of any of its claims.
function endOf(queue, options, more) {
    const {owner, token, ...others} = optionsOf(options, {owner: text, token: argument.token, ...more});
    return [{queue: text(queue, 'queue'), owner: text(owner, 'owner'), token}, others];
}

async function done(store, queue, id, options) {
    const [end, {table, result, keep}] = endOf(queue, options, DONE);
    if (table !== undefined && (result !== undefined || keep)) {
        throw new TypeError('the row of a table has no result, and must not be kept');
    }
    check(await store._ask('done', {...end, id: text(id, 'id')}, table, result, keep));
}

async function progress(store, queue, id, told, options) {
    const [claimed] = endOf(queue, options);
    check(await store._ask('progress', {...claimed, id: text(id, 'id')}, argument.note(told, 'the progress')));
}

async function doneMany(store, queue, ids, options) {
    const [end] = endOf(queue, options);
    const answer = await store._ask('doneMany', end, texts(ids, 'ids'));
    if (outcomeOf(answer) !== 'lost') {
        check(answer);
    }
    return answer.count;
}

async function retry(store, queue, id, options) {
    const [end, {delay, error, exitCode, uncounted, park}] = endOf(queue, options, RETRY);
    check(await store._ask('retry', {...end, id: text(id, 'id')}, delay, error, exitCode, uncounted, park));
}

module.exports = {Claim, claim, claimMany, done, progress, doneMany, retry};
