// SPDX-License-Identifier: Apache-2.0
'use strict';
// Loops over the items of a queue. The library claims, renews, finishes and retries; here is the
// hand-over of items and decisions.
const {native, nextNumber, listen, unlisten} = require('./native');
const {ClosedError, LostError, UnavailableError, check, outcomeOf} = require('./errors');
const argument = require('./arguments');
const {asyncDispose} = require('./lease');

const DONE = 0;
const FAILED = 1;
const GIVE_BACK = -1;
const STEP_LOST = 4;
const STEP_UNKNOWN = 5;
const ZEROS = Object.freeze({claims: 0, steals: 0, done: 0, retried: 0, parked: 0, lost: 0, unknown: 0,
    announced: 0, duplicates: 0, left: 0, skipped: 0});
const {text, flag, count, duration} = argument;
const OPTIONS = {ttl: duration, maxAttempts: count, note: text, retryMin: duration, retryMax: duration,
    drain: flag, patience: duration, table: argument.table, signal: argument.abortable};

// A promise, and what settles it.
function deferred() {
    const made = {};
    made.promise = new Promise((resolve, reject) => Object.assign(made, {resolve, reject}));
    return made;
}

// A claimed item: queue, id, value, token, attempt, isStolen, owner, rowId.
class Item {
    #work;
    #number;

    constructor(work, news) {
        const {queue, id, value, token, attempt, isStolen, owner, rowId} = news;
        Object.assign(this, {queue, id, value, token, attempt, isStolen, owner, rowId});
        this.#work = work;
        this.#number = news.item;
    }

    // Milliseconds for which the claim is held for certain; 0: it is lost, or has ended.
    get remaining() {
        return this.#work._remaining(this.#number);
    }

    done() {
        return this.#work._decide(this.#number, DONE);
    }

    // Gives the item back: it has not failed.
    giveBack() {
        return this.#work._decide(this.#number, GIVE_BACK);
    }

    // It has failed, and why: an Error, a text or bytes; again later.
    async retry(why, options) {
        const {exitCode} = argument.options(options, {exitCode: argument.int32});
        const said = why === undefined || why === null ? undefined : argument.failure(why, 'the reason');
        await this.#work._decide(this.#number, FAILED, said, exitCode);
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
    #abort = () => native.feedStop(this.#feed);

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
        this.#signal?.throwIfAborted();
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
            this.#wake();
            return;
        }
        this.#counts = news.counts;
        if (this.#present?.number === news.item) {
            this.#present.step.resolve(news.step);
        }
    }

    _remaining(number) {
        return native.feedRemaining(this.#feed, number);
    }

    // Decides on an item, and waits for what comes of it.
    async _decide(number, verdict, failure, exitCode) {
        const present = this.#present;
        if (present?.number !== number || present.isDecided) {
            throw new Error('the item has been decided on');
        }
        present.isDecided = true;
        if (!native.feedDecide(this.#feed, number, verdict, failure, exitCode)) {
            throw new ClosedError('work'); // which gave the item back
        }
        const step = await present.step.promise;
        if (step === STEP_LOST) {
            throw new LostError('the claim was lost; the item is left to its next claim');
        }
        if (step === STEP_UNKNOWN || step === undefined) {
            throw new UnavailableError('unknown whether the claim has been ended');
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
            this.#begin();
        }
        const former = this.#taken; // the next item may be there already
        if (former !== undefined && !former.isDecided) {
            former.isDecided = true;
            native.feedDecide(this.#feed, former.number, DONE);
        }
        while (this.#present === former && !this.#isOver) {
            this.#waiting = deferred();
            await this.#waiting.promise;
        }
        if (this.#present !== former && !this.#isOver) {
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
        await this.close();
        return {value, done: true};
    }

    // Gives the present item back, and returns when nothing of this work is claimed.
    async close() {
        if (this.#end === undefined) {
            this.#end = Promise.resolve();
            this.#isOver = true;
            return;
        }
        native.feedStop(this.#feed);
        await this.#end;
    }

    [asyncDispose]() {
        return this.close();
    }
}

module.exports = {Work, Item};
