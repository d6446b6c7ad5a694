// SPDX-License-Identifier: Apache-2.0
'use strict';
// Loops over the items of a queue. The library claims, renews, finishes and retries; here is the
// hand-over of items and decisions.
const util = require('node:util');
const {native, nextNumber, listen, unlisten} = require('./native');
const {CancelledError, ClosedError, LostError, UnavailableError, check, errorOf, outcomeOf} = require('./errors');
const argument = require('./arguments');
const {asyncDispose} = require('./lease');
const scopes = require('./scopes');

const DONE = 0;
const FAILED = 1;
const PARKED = 2; // as in src/work.c
const {LK_WORK_GIVE_BACK: GIVE_BACK, LK_WORK_LOST, LK_WORK_UNKNOWN, LK_WORKERS_MAX, LK_VALUE_MAX} =
    native.constants;
const RETRY_MIN_MS = 1000; // as in the library, unless the option says otherwise
const ZEROS = Object.freeze({claims: 0, steals: 0, done: 0, retried: 0, parked: 0, lost: 0, unknown: 0,
    announced: 0, duplicates: 0, left: 0, skipped: 0});
const {text, flag, count, duration} = argument;
const KEEP = {keep: argument.milliseconds};
const PARK = {exitCode: argument.int32};
const RETRY = {exitCode: argument.int32, delay: argument.milliseconds, uncounted: flag};
const OPTIONS = {ttl: duration, maxAttempts: count, note: text, retryMin: duration, retryMax: duration,
    drain: flag, patience: duration, table: argument.table, signal: argument.abortable};

// A promise, and what settles it.
function deferred() {
    const made = {};
    made.promise = new Promise((resolve, reject) => Object.assign(made, {resolve, reject}));
    return made;
}

function reasonOf(why) {
    return why === undefined || why === null ? undefined : argument.failure(why, 'the reason');
}

// A claimed item: queue, id, value, token, attempt, isStolen, owner, rowId.
class Item {
    #work;
    #number;
    #isUnknown = false; // whether a decision has taken effect: the store did not answer
    #abort = new AbortController();
    #lost = deferred();

    constructor(work, news) {
        const {queue, id, value, token, attempt, isStolen, owner, rowId} = news;
        Object.assign(this, {queue, id, value, token, attempt, isStolen, owner, rowId});
        this.#work = work;
        this.#number = news.item;
    }

    // The claim has ended under its handler: it was lost, or the work was closed.
    _tellLost(error) {
        if (!this.#abort.signal.aborted) {
            this.#lost.resolve(error);
            this.#abort.abort(error);
        }
    }

    // Is fulfilled with an error when the claim is lost, or its work closed; never, if the item is decided
    // on before.
    get lost() {
        return this.#lost.promise;
    }

    // Is aborted when the claim is lost, or its work closed, with that error as its reason.
    get signal() {
        return this.#abort.signal;
    }

    get isLost() {
        return this.#abort.signal.aborted || this.#work._isLost(this.#number);
    }

    // Throws LostError unless the claim is held, or has been decided on.
    check() {
        if (this.isLost) {
            throw new LostError('the claim is lost');
        }
    }

    // Milliseconds for which the claim is held for certain; 0: it is lost, or has ended.
    get remaining() {
        return this.#work._remaining(this.#number);
    }

    // Says how far the work is, in up to 1024 bytes, which listings show; null: no more.
    async progress(text) {
        await this.#work._tell(this, argument.note(text, 'the progress'));
    }

    // The item is done and removed; or kept with its result, for `keep`, or as long as its push says, if that is
    // longer. UnavailableError, of this and the next three: unknown; to call one again asks again. If the store
    // refuses the result, this is rejected with that, and the item has failed.
    async done(result, options) {
        const told = argument.note(result, 'the result');
        const {keep} = argument.options(options, KEEP);
        if ((told?.length ?? 0) > LK_VALUE_MAX) {
            throw new RangeError(`the result must have at most ${LK_VALUE_MAX} bytes`);
        }
        if (this.rowId !== null && (told !== undefined || keep)) {
            throw new TypeError('the row of a table has no result, and must not be kept');
        }
        await this.#decide(DONE, told, {keep});
    }

    // Gives the item back: it has not failed, and the attempt does not count.
    giveBack() {
        return this.#decide(GIVE_BACK);
    }

    // It has failed, and why: an Error, a text or bytes; again later, after `delay` if that is given.
    // `uncounted`: not now; the attempt does not count, and the item is not parked.
    async retry(why, options) {
        await this.#decide(FAILED, reasonOf(why), argument.options(options, RETRY));
    }

    // It cannot succeed, and why: it is parked, whatever its attempts, until it is unparked.
    async park(why, options) {
        await this.#decide(PARKED, reasonOf(why), argument.options(options, PARK));
    }

    // `told`: why it has failed, or what it is done with.
    async #decide(verdict, told, how = {}) {
        try {
            if (this.#isUnknown) {
                await this.#work._decideAgain(this, verdict, told, how);
            } else {
                await this.#work._decide(this.#number, verdict, told, how);
            }
        } catch (error) {
            this.#isUnknown = error instanceof UnavailableError;
            throw error;
        }
        this.#isUnknown = false;
    }

    [util.inspect.custom]() {
        return `Item {${this.queue}/${this.id}, attempt ${this.attempt}, token ${this.token}}`;
    }
}

class Work {
    #store;
    #options;
    #signal;
    #number = nextNumber();
    #feed;
    #end; // the promise of its outcome, when it has begun
    #isOver = false;
    #present; // the item: {number, isDecided, step: deferred}
    #taken; // the item that next() has returned
    #waiting; // of next()
    #failure;
    #counts = ZEROS;
    #turn = Promise.resolve(); // calls of next(), one after another
    #isStopped = false;
    #isHandled = false; // by runWorkers()
    #abort = () => this.stop();

    constructor(store, queue, options) {
        const {signal, ...given} = argument.options(options, OPTIONS);
        if (queue !== undefined && queue !== null) {
            given.queue = text(queue, 'queue');
        } else if (given.table === undefined) {
            throw new TypeError('a queue or a table is needed');
        }
        this.#store = store;
        this.#options = given;
        this.#signal = signal;
        this.#feed = native.feedMake(this.#number);
    }

    // What has become of the items so far.
    get counts() {
        return {...this.#counts};
    }

    [Symbol.asyncIterator]() {
        return this;
    }

    #begin() {
        listen(this.#number, this);
        this.#store._part(this);
        this.#signal?.addEventListener('abort', this.#abort, {once: true});
        this.#end = this.#run();
    }

    async #run() {
        try {
            const answer = await this.#store._feed(this.#feed, this.#options);
            this.#counts = answer.counts ?? this.#counts;
            if (outcomeOf(answer) !== 'cancelled') {
                check(answer);
            } else if (this.#signal?.aborted) {
                throw this.#signal.reason;
            }
        } catch (error) {
            this.#failure = error;
        }
        this.#isOver = true;
        unlisten(this.#number);
        this.#signal?.removeEventListener('abort', this.#abort);
        this.#store._partEnded(this);
        this.#present?.step.resolve(undefined);
        this.#wake();
    }

    #wake() {
        const waiting = this.#waiting;
        this.#waiting = undefined;
        waiting?.resolve();
    }

    _hear(news) {
        if (news.kind === 'item') {
            this.#present = {number: news.item, isDecided: false, step: deferred(), item: new Item(this, news)};
            if (this.#isStopped) {
                this.#returnUntaken();
            }
            this.#wake();
            return;
        }
        if (news.kind === 'lost') {
            if (this.#present?.number === news.item) {
                this.#present.item._tellLost(new LostError('the claim is lost'));
            }
            return;
        }
        this.#counts = news.counts;
        if (this.#present?.number === news.item) {
            this.#present.step.resolve(news);
        }
    }

    _remaining(number) {
        return native.feedRemaining(this.#feed, number);
    }

    _isLost(number) {
        return native.feedLost(this.#feed, number);
    }

    // Gives back the item that the loop has not been given.
    #returnUntaken() {
        const present = this.#present;
        if (present !== undefined && present !== this.#taken && !present.isDecided) {
            present.isDecided = true;
            native.feedDecide(this.#feed, present.number, GIVE_BACK);
        }
    }

    // Claims no more; the loop ends with its next turn. The item that it has is decided on by the loop.
    stop() {
        this.#isStopped = true;
        native.feedStop(this.#feed, false);
        this.#returnUntaken();
    }

    // Its items are handled by a function, which the store waits for when it is closed.
    _handled() {
        this.#isHandled = true;
        return this;
    }

    // The store is being closed.
    async _end() {
        if (!this.#isHandled) {
            await this.close();
        } else {
            this.stop();
            await this.#end;
        }
    }

    // Decides on an item, and waits for what comes of it.
    async _decide(number, verdict, told, {exitCode, delay, uncounted, keep}) {
        const present = this.#present;
        if (present?.number !== number || present.isDecided) {
            throw new Error('the item has been decided on');
        }
        present.isDecided = true;
        const isHeard = verdict === DONE && (told !== undefined || keep)
            ? native.feedDone(this.#feed, number, told, keep)
            : native.feedDecide(this.#feed, number, verdict, told, exitCode, delay, uncounted);
        if (!isHeard) {
            throw new ClosedError('work'); // which gave the item back
        }
        const {step = LK_WORK_UNKNOWN, refusal} = await present.step.promise ?? {};
        if (step === LK_WORK_UNKNOWN || (refusal && outcomeOf(refusal) === 'unavailable')) {
            throw new UnavailableError('unknown whether the claim has been ended');
        }
        if (refusal) {
            throw errorOf(refusal);
        }
        if (step === LK_WORK_LOST) {
            throw new LostError('the claim was lost; the item is left to its next claim');
        }
    }

    async _tell({queue, id, owner, token}, told) {
        check(await this.#store._ask('progress', {queue, id, owner, token}, told));
    }

    // The claim has gone with the first decision. It is named by its owner and token.
    async _decideAgain({queue, id, owner, token}, verdict, told, how) {
        const end = {queue, id, owner, token};
        if (verdict === DONE) {
            check(await this.#store._ask('done', end, this.#options.table, told, how.keep));
        } else {
            const delay = verdict === FAILED ? how.delay ?? this.#options.retryMin ?? RETRY_MIN_MS : undefined;
            check(await this.#store._ask('retry', end, delay, told, how.exitCode,
                verdict === GIVE_BACK || how.uncounted, verdict === PARKED));
        }
    }

    // To ask for the next item says that the present one is done.
    next() {
        const turn = this.#turn.then(() => this.#next());
        this.#turn = turn.catch(() => undefined);
        return turn;
    }

    async #next() {
        if (this.#end === undefined) {
            this.#signal?.throwIfAborted();
            if (this.#isStopped) {
                return {value: undefined, done: true};
            }
            this.#begin();
        }
        const former = this.#taken; // the next item may be there already
        if (former !== undefined && !former.isDecided) {
            former.isDecided = true;
            native.feedDecide(this.#feed, former.number, DONE);
        }
        while ((this.#present === former || this.#present.isDecided) && !this.#isOver) {
            this.#waiting = deferred();
            await this.#waiting.promise;
        }
        if (!this.#isOver) {
            this.#taken = this.#present;
            return {value: this.#taken.item, done: false};
        }
        this.#throwFailure();
        return {value: undefined, done: true};
    }

    #throwFailure() {
        const failure = this.#failure;
        this.#failure = undefined;
        if (failure !== undefined) {
            throw failure;
        }
    }

    // `break`, or an error in the loop, which JavaScript does not tell apart: the present item is given
    // back as not failed.
    async return(value) {
        await this.#close();
        return {value, done: true};
    }

    // Gives the present item back, and returns when nothing of this work is claimed. A handler that
    // works on that item is told before, by the item's signal.
    async close() {
        const taken = this.#taken;
        if (taken !== undefined && !taken.isDecided && !this.#isOver) {
            taken.item._tellLost(new ClosedError('work'));
        }
        await this.#close();
    }

    async #close() {
        if (this.#end === undefined) {
            this.#end = Promise.resolve();
            this.#isOver = true;
            return;
        }
        this.#isStopped = true;
        native.feedStop(this.#feed, true);
        await this.#end;
    }

    [asyncDispose]() {
        return this.close();
    }
}

// Whether a handler was ended by what ends the work, so that its item has not failed.
function wasStopped(error, store, signal) {
    return (signal?.aborted && (error === signal.reason || error?.name === 'AbortError'))
        || (store.closed && (error instanceof ClosedError || error instanceof CancelledError));
}

// Decides on an item whose handler has thrown. A claim that was lost is left to its next claim.
async function decideOn(item, error, isStopped) {
    try {
        await (isStopped ? item.giveBack() : item.retry(error));
    } catch (refusal) {
        if (refusal instanceof TypeError || refusal instanceof RangeError) { // what was thrown is no reason
            await item.retry(`thrown: ${typeof error}`).catch(() => undefined);
        }
    }
}

// Calls a function with each item. All handlers have ended when it returns, whatever has ended it.
async function runWorkers(store, queue, handle, {workers = 1, ...options} = {}) {
    argument.number(workers, 'workers', 1, LK_WORKERS_MAX);
    if (typeof handle !== 'function') {
        throw new TypeError('the handler must be a function');
    }
    const works = Array.from({length: workers}, () => new Work(store, queue, options)._handled());
    const run = async (work) => {
        try {
            for await (const item of work) {
                try {
                    await scopes.handling(store, () => handle(item));
                } catch (error) {
                    await decideOn(item, error, wasStopped(error, store, options.signal));
                }
            }
        } catch (error) {
            works.forEach((one) => one.stop());
            throw error;
        }
    };
    const ends = await Promise.allSettled(works.map(run));
    const failed = ends.find(({status}) => status === 'rejected');
    if (failed !== undefined) {
        throw failed.reason;
    }
    return works.reduce((sums, {counts}) => {
        Object.keys(counts).forEach((name) => {
            sums[name] = (sums[name] ?? 0) + counts[name];
        });
        return sums;
    }, {});
}

module.exports = {Work, Item, runWorkers};
