// SPDX-License-Identifier: Apache-2.0
'use strict';
// usage: agent.js: makes the calls that ../conformance.py asks for, by the functions of the binding.
const readline = require('node:readline');
const lockkeeper = require(process.env.LK_NODE_PACKAGE);

let store;

// The arguments of a call; undefined: not given.
class Given {
    #fields = new Map();

    constructor(pairs) {
        for (const pair of pairs) {
            const at = pair.indexOf('=');
            const name = pair.slice(0, at);
            this.#fields.set(name, [...this.#fields.get(name) ?? [], decodeURIComponent(pair.slice(at + 1))]);
        }
    }

    texts(name) {
        return this.#fields.get(name) ?? [];
    }

    text(name) {
        return this.texts(name)[0];
    }

    number(name) {
        const text = this.text(name);
        return text === undefined ? undefined : Number(text);
    }

    flag(name) {
        return this.text(name) === 'yes';
    }

    big(name) {
        const text = this.text(name);
        return text === undefined ? undefined : BigInt(text);
    }

    get lease() {
        return {owner: this.text('owner'), token: this.big('token')};
    }
}

function quoted(value) {
    const bytes = Buffer.isBuffer(value) ? value
        : Buffer.from(typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value));
    return bytes.toString('latin1').replace(/[^\w/.-]/g,
        (one) => `%${one.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

// Prints a line; what is undefined or null is left out.
function say(word, fields = {}) {
    const pairs = Object.entries(fields).flatMap(([name, value]) => (Array.isArray(value) ? value : [value])
        .filter((one) => one !== undefined && one !== null).map((one) => `${name}=${quoted(one)}`));
    process.stdout.write(`${[word, ...pairs].join(' ')}\n`);
}

function sayBlockers(blockers) {
    for (const {path, owner, note, held} of blockers) {
        say('blocker', {path, owner, note, held});
    }
}

function sayAnswer(answer) {
    const {owner, ticket, token, ttl, position, created, fixed} = answer;
    say(answer.outcome, {path: answer.paths, owner, ticket, token, ttl, expires_in: answer.expiresIn,
        in_use: answer.inUse, position, created, fixed});
    sayBlockers(answer.blockers);
    for (const {data, inDoubt} of answer.values) {
        say('value', {value: data, in_doubt: inDoubt});
    }
}

function sayEntries(entries) {
    say('ok');
    for (const {expiresIn, requestIndex: _, user: __, blockers, ...fields} of entries) {
        say('entry', {...fields, expires_in: expiresIn});
        sayBlockers(blockers);
    }
}

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camel = (name) => name.replace(/_[a-z]/g, (letters) => letters[1].toUpperCase());

const CALLS = {
    async open(given) {
        store = await lockkeeper.open(given.text('url'));
        say('ok');
    },
    async close() {
        await store.close();
        say('ok');
    },
    async ask(given) {
        const [limit, units, wait, ttl, until] =
            ['limit', 'units', 'wait', 'ttl', 'until'].map((name) => given.number(name));
        const [style, owner, note] = ['style', 'owner', 'note'].map((name) => given.text(name));
        sayAnswer(await store.ask(given.texts('part'), {shared: given.flag('shared'),
            value: given.flag('value'), style, owner, note, limit, units, wait, ttl, until}));
    },
    async renew(given) {
        sayAnswer(await store.renew(given.texts('part'), {ttl: given.number('ttl'), ...given.lease}));
    },
    async release(given) {
        const values = given.texts('put');
        const put = values.length === 0 ? undefined
            : Object.fromEntries(given.texts('put_path').map((path, i) => [path, values[i]]));
        sayAnswer(await store.release(given.texts('part'), {put, ...given.lease}));
    },
    async break(given) {
        const [reason, by, owner] = ['reason', 'by', 'owner'].map((name) => given.text(name));
        say('ok', {count: await store.break(given.text('path'), {reason, by, owner, atOnce: given.flag('now')})});
    },
    async put(given) {
        await store.put(given.text('path'), given.text('value'), given.lease);
        say('ok');
    },
    async delete(given) {
        await store.del(given.text('path'), given.lease);
        say('ok');
    },
    async read(given) {
        const value = await store.read(given.text('path'));
        say(value === null ? 'none' : 'ok');
        if (value !== null) {
            say('value', {value: value.data, in_doubt: value.inDoubt});
        }
    },
    async push(given) {
        say('ok', await store.pushItem(given.text('queue'), given.text('id'), given.text('value'),
            {delay: given.number('delay'), priority: given.number('priority'), needs: given.texts('need'),
                again: given.flag('again'), replace: given.flag('replace'), keep: given.number('keep')}));
    },
    async push_many(given) {
        const items = given.texts('id').map((id) => [id, given.text('value')]);
        const {added, changed} = await store.pushMany(given.text('queue'), items,
            {again: given.flag('again'), replace: given.flag('replace'), keep: given.number('keep')});
        say('ok', {count: added, changed});
    },
    async claim(given) {
        const [queue, most] = [given.text('queue'), given.number('max')];
        const options = {owner: given.text('owner'), note: given.text('note'), ttl: given.number('ttl'),
            wait: given.number('wait'), maxAttempts: given.number('attempts')};
        const one = most === undefined ? await store.claim(queue, options) : null;
        const claims = most !== undefined ? await store.claimMany(queue, most, options) : one === null ? [] : [one];
        say(claims.length === 0 ? 'none' : 'granted');
        for (const {id, owner, value, token, attempt, isStolen, ttl, remaining} of claims) {
            say('claim', {id, owner, value, token, attempt, stolen: isStolen, ttl, expires_in: Math.floor(remaining)});
        }
    },
    async done(given) {
        await store.done(given.text('queue'), given.text('id'),
            {result: given.text('result'), keep: given.number('keep'), ...given.lease});
        say('ok');
    },
    async progress(given) {
        await store.progress(given.text('queue'), given.text('id'), given.text('put'), given.lease);
        say('ok');
    },
    async done_many(given) {
        say('ok', {count: await store.doneMany(given.text('queue'), given.texts('id'), given.lease)});
    },
    async retry(given) {
        await store.retry(given.text('queue'), given.text('id'), {delay: given.number('delay'),
            error: given.text('error'), exitCode: given.number('exit'), uncounted: given.flag('uncounted'),
            park: given.flag('park'), ...given.lease});
        say('ok');
    },
    async unpark(given) {
        say('ok', {count: await store.unpark(given.text('queue'), given.text('id'))});
    },
    async drop(given) {
        say('ok', {count: await store.drop(given.text('queue'), ...given.texts('id'))});
    },
    async cancel(given) {
        const [reason, by] = ['reason', 'by'].map((name) => given.text(name));
        say('ok', {count: Number(await store.cancel(given.text('queue'), given.text('id'),
            {reason, by, atOnce: given.flag('now')}))});
    },
    async stats(given) {
        const stats = await store.stats(given.text('queue'));
        say('ok', Object.fromEntries(Object.entries(stats).map(([name, count]) => [snake(name), count])));
    },
    async bound(given) {
        const names = ['live', 'live_per_owner', 'live_per_root', 'waiters_per_path', 'events'];
        await store.setLimits(Object.fromEntries(names.map((name) => [camel(name), given.number(name)])));
        say('ok');
    },
    async list(given) {
        sayEntries(await store.list(given.text('prefix')));
    },
    async show(given) {
        sayEntries(await store.show(given.text('path')));
    },
    async items(given) {
        const items = await store.items(given.text('queue'));
        say('ok');
        for (const {id, state, owner, value, attempts, dueIn, expiresIn, needs, priority, lastExit, lastError,
            progress} of items) {
            say('item', {id, state, owner, value, attempts, due_in: dueIn, expires_in: expiresIn, need: needs,
                priority, exit: lastExit, error: lastError, progress});
        }
    },
};

async function main() {
    for await (const line of readline.createInterface({input: process.stdin})) {
        const [verb, ...pairs] = line.split(' ');
        try {
            await CALLS[verb](new Given(pairs));
        } catch (error) {
            if (error instanceof lockkeeper.LockkeeperError) {
                say(error.outcome, {says: error.message, cycle: error.cycle});
                sayBlockers(error.blockers);
            } else if (/ must /.test(error.message)) { // the binding itself has refused
                say('invalid', {says: error.message, refused: true});
            } else {
                throw error;
            }
        }
        process.stdout.write('\n');
    }
}

main();
