// SPDX-License-Identifier: Apache-2.0
'use strict';
// Arguments as the module takes them. What C would change silently is refused here: a text with a NUL
// or half a surrogate pair, a number that its type does not hold. A name that is no option is refused,
// because a mistyped one would be ignored. Everything else is the library's to judge.
const {native} = require('./native');

const FOREVER = undefined; // the module's default for waits
const UINT32_MAX = 0xffffffff;
const FAILURE_MAX = 1024; // bytes that are kept; bindings/abi compares it

function shown(value) {
    return value === null ? 'null' : Array.isArray(value) ? 'an array' : typeof value;
}

function text(value, name) {
    if (typeof value !== 'string') {
        throw new TypeError(`${name} must be a string, not ${shown(value)}`);
    }
    if (value.includes('\0')) {
        throw new TypeError(`${name} must not contain a NUL character`);
    }
    if (/\p{Surrogate}/u.test(value)) {
        throw new TypeError(`${name} must not contain half a surrogate pair`);
    }
    return value;
}

function texts(value, name) {
    const list = typeof value === 'string' ? [value] : value;
    if (!Array.isArray(list)) {
        throw new TypeError(`${name} must be a string or an array of strings, not ${shown(value)}`);
    }
    return list.map((one) => text(one, name));
}

function number(value, name, min, max) {
    if (typeof value !== 'number') {
        throw new TypeError(`${name} must be a number, not ${shown(value)}`);
    }
    if (!Number.isInteger(value) || value < min || value > max) {
        throw new RangeError(`${name} must be a whole number, ${min} to ${max}`);
    }
    return value;
}

// Milliseconds, rounded up.
function milliseconds(value, name) {
    if (typeof value !== 'number') {
        throw new TypeError(`${name} must be a number of milliseconds, not ${shown(value)}`);
    }
    const whole = Math.ceil(value);
    if (!(whole >= 0) || whole > Number.MAX_SAFE_INTEGER) {
        throw new RangeError(`${name} must be a number of milliseconds, and not negative`);
    }
    return whole;
}

function wait(value, name) {
    return value === Infinity ? FOREVER : milliseconds(value, name);
}

// One that is 0 would stand for the default.
function duration(value, name) {
    const ms = milliseconds(value, name);
    if (ms === 0) {
        throw new RangeError(`${name} must be longer than 0`);
    }
    return ms;
}

function instant(value, name) {
    return duration(value instanceof Date ? value.getTime() : value, name);
}

function flag(value, name) {
    if (typeof value !== 'boolean') {
        throw new TypeError(`${name} must be a boolean, not ${shown(value)}`);
    }
    return value;
}

// Of 64 bits: a bigint, or a number that is exact.
function big(value, name) {
    if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) {
        throw new TypeError(`${name} must be a bigint, not ${shown(value)}`);
    }
    if (value < 0 || BigInt(value) >= 1n << 64n) {
        throw new RangeError(`${name} must have 64 bits, and not be negative`);
    }
    return BigInt(value);
}

function token(value, name) {
    if (big(value, name) === 0n) {
        throw new RangeError(`${name} must be greater than 0`); // 0 stands for any
    }
    return BigInt(value);
}

// The bytes of a value: a string's as UTF-8.
function bytes(value, name) {
    if (typeof value === 'string') {
        if (/\p{Surrogate}/u.test(value)) {
            throw new TypeError(`${name} must not contain half a surrogate pair`);
        }
        return Buffer.from(value);
    }
    if (value instanceof ArrayBuffer) {
        return Buffer.from(value);
    }
    if (ArrayBuffer.isView(value)) {
        return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
    throw new TypeError(`${name} must be bytes or a string, not ${shown(value)}`);
}

// Why an item has failed. Of an error's text, the bytes that are kept with an item.
function failure(value, name) {
    return value instanceof Error ? Buffer.from(String(value)).subarray(0, FAILURE_MAX) : bytes(value, name);
}

// What is told of the work on an item, or came of it; null: nothing.
function note(value, name) {
    return value === undefined || value === null ? undefined : bytes(value, name);
}

function abortable(value, name) {
    if (!(value instanceof AbortSignal)) {
        throw new TypeError(`${name} must be an AbortSignal, not ${shown(value)}`);
    }
    return value;
}

function puts(value, name) {
    if (value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) {
        return Object.entries(value).map(([path, one]) => ({path: text(path, name), value: bytes(one, name)}));
    }
    return [{value: bytes(value, name)}];
}

const count = (value, name) => number(value, name, 1, UINT32_MAX);
const int32 = (value, name) => number(value, name, -(2 ** 31), 2 ** 31 - 1);
const bound = (value, name) => number(value, name, 0, Number.MAX_SAFE_INTEGER);

function table(value, name) {
    return options(value, {name: text, id: text, where: text, order: text, done: text}, name);
}

const {LK_TRY, LK_QUEUE, LK_WAIT} = native.constants;
const STYLES = {try: LK_TRY, queue: LK_QUEUE, wait: LK_WAIT};
function style(value, name) {
    if (!Object.hasOwn(STYLES, value)) {
        throw new TypeError(`${name} must be one of ${Object.keys(STYLES).join(', ')}`);
    }
    return STYLES[value];
}

// A copy of the options, each checked by the function of its name. Undefined is: not given.
function options(given, allowed, what = 'the options') {
    if (given === undefined) {
        return {};
    }
    if (given === null || typeof given !== 'object' || Array.isArray(given)) {
        throw new TypeError(`${what} must be an object, not ${shown(given)}`);
    }
    const made = {};
    for (const [name, value] of Object.entries(given)) {
        if (!Object.hasOwn(allowed, name)) {
            throw new TypeError(`there is no option '${name}'`);
        }
        if (value !== undefined) {
            made[name] = allowed[name](value, name);
        }
    }
    return made;
}

const REQUEST = {
    shared: flag, limit: count, units: count, wait, ttl: duration, until: instant, owner: text, note: text,
    value: flag, bound: flag, patience: duration, atLeast: duration, signal: abortable,
};

module.exports = {text, texts, number, duration, milliseconds, wait, flag, big, token, bytes, failure, note, puts,
    count, int32, bound, table, style, options, abortable, FOREVER,
    REQUEST};
