// SPDX-License-Identifier: Apache-2.0
'use strict';
// The events of a store, in order (rule R21).
const {native} = require('./native');
const {ClosedError, check, outcomeOf} = require('./errors');
const argument = require('./arguments');
const {asyncDispose} = require('./lease');

class Watch {
    #store;
    #handle;
    #signal;
    #position = 0n;
    #closing;
    #turn = Promise.resolve(); // one call at a time
    #cancel;

    constructor(store, handle, signal) {
        this.#store = store;
        this.#handle = handle;
        this.#signal = signal;
        store._part(this);
    }

    // The sequence to continue after, by another watch: the option `after`.
    get position() {
        return this.#position;
    }

    [Symbol.asyncIterator]() {
        return this;
    }

    // The next event. `wait`: milliseconds, then null.
    take(options) {
        return this.#queue(async () => {
            const {wait, signal} = argument.options(options, {wait: argument.wait, signal: argument.abortable});
            const answer = await this.#ask(wait, signal ?? this.#signal);
            return answer === null ? null : answer.event ?? null;
        });
    }

    next() {
        return this.#queue(async () => {
            if (this.#closing !== undefined) {
                return {value: undefined, done: true};
            }
            const answer = await this.#ask(undefined, this.#signal);
            return answer === null ? {value: undefined, done: true} : {value: answer.event, done: false};
        });
    }

    #queue(call) {
        const turn = this.#turn.then(call);
        this.#turn = turn.catch(() => undefined);
        return turn;
    }

    // The answer; null: the watch was closed meanwhile.
    async #ask(wait, signal) {
        if (this.#closing !== undefined) {
            throw new ClosedError('watch');
        }
        signal?.throwIfAborted();
        const cancel = native.cancelMake();
        const abort = () => native.cancelNow(cancel);
        this.#cancel = cancel;
        signal?.addEventListener('abort', abort, {once: true});
        let answer;
        try {
            answer = await native.watchNext(this.#handle, wait, cancel);
        } finally {
            this.#cancel = undefined;
            signal?.removeEventListener('abort', abort);
        }
        this.#position = answer.position ?? this.#position;
        const outcome = outcomeOf(answer);
        if (outcome === 'cancelled') {
            if (this.#closing === undefined) {
                signal?.throwIfAborted();
            } else {
                return null;
            }
        }
        return outcome === 'timeout' ? answer : check(answer);
    }

    // Ends the iteration.
    close() {
        this.#closing ??= this.#close();
        return this.#closing;
    }

    // The store is being closed.
    _end() {
        return this.close();
    }

    async #close() {
        if (this.#cancel !== undefined) {
            native.cancelNow(this.#cancel);
        }
        await this.#turn;
        this.#store._partEnded(this);
        await native.watchClose(this.#handle);
    }

    async return(value) {
        await this.close();
        return {value, done: true};
    }

    [asyncDispose]() {
        return this.close();
    }
}

module.exports = {Watch};
