// SPDX-License-Identifier: Apache-2.0
'use strict';
// An error class for each outcome that is not a success (rule R23 of docs/rules.md).
const {native} = require('./native');

// The base of them. The message is the library's. `blockers` and `cycle` (owners of a deadlock, the
// caller first) are those of the answer, where it has any.
class LockkeeperError extends Error {
    constructor(message, result) {
        super(message);
        this.name = this.constructor.name;
        this.outcome = this.constructor.outcome;
        this.code = `LK_${this.outcome.toUpperCase()}`;
        this.blockers = result?.blockers ?? [];
        this.cycle = result?.cycle ?? [];
    }
}
LockkeeperError.outcome = 'internal';

function kind(name, outcome) {
    const made = {[name]: class extends LockkeeperError {}}[name];
    made.outcome = outcome;
    return made;
}

const classes = {
    BusyError: kind('BusyError', 'busy'), // not granted, and nothing new stays in the queue
    TimeoutError: kind('TimeoutError', 'timeout'), // not granted within the time given
    LostError: kind('LostError', 'lost'), // not held (any more); nothing was changed
    DeadlockError: kind('DeadlockError', 'deadlock'), // to wait would close a cycle of owners
    InvalidError: kind('InvalidError', 'invalid'), // the arguments are wrong
    DeniedError: kind('DeniedError', 'denied'),
    FullError: kind('FullError', 'full'), // a configured bound is reached
    UnsupportedError: kind('UnsupportedError', 'unsupported'), // this store cannot do that
    UnavailableError: kind('UnavailableError', 'unavailable'), // unknown whether it took effect
    InternalError: kind('InternalError', 'internal'), // a defect, or exhausted memory
    NoItemError: kind('NoItemError', 'none'), // there is no item whose result could come
    CancelledError: kind('CancelledError', 'cancelled'), // the store was closed during the wait
};

const OUTCOMES = native.outcomes; // their names, in the order of lk_outcome
const byOutcome = new Map(Object.values(classes).map((one) => [one.outcome, one]));

// The item whose result was awaited is parked: it comes to nothing unless it is unparked. The message says why,
// and `item` has more.
class ItemParkedError extends LockkeeperError {
    constructor(item) {
        const why = [item.lastExit === null ? undefined : `exit ${item.lastExit}`, item.lastError?.toString()]
            .filter((one) => one !== undefined);
        super(`the item is parked${why.length > 0 ? ': ' : ''}${why.join(', ')}`);
        this.item = item;
    }
}
ItemParkedError.outcome = 'none';

// A call on a store, a watch or a work that has been closed.
class ClosedError extends Error {
    constructor(what = 'store') {
        super(`the ${what} is closed`);
        this.name = 'ClosedError';
        this.code = 'LK_CLOSED';
    }
}

function outcomeOf(answer) {
    return OUTCOMES[answer.outcome] ?? 'internal';
}

function errorOf(answer) {
    const made = byOutcome.get(outcomeOf(answer)) ?? classes.InternalError;
    return new made(answer.text, answer.result);
}

// The answer, if the call is done.
function check(answer) {
    if (!['ok', 'granted'].includes(outcomeOf(answer))) {
        throw errorOf(answer);
    }
    return answer;
}

module.exports = {LockkeeperError, ...classes, ItemParkedError, ClosedError, OUTCOMES, outcomeOf, errorOf, check};
