// SPDX-License-Identifier: Apache-2.0
'use strict';
// Cases as TAP, stores for them, and other processes that use the binding.
// Arguments of each test: PATTERN LK, where PATTERN is "service" or a URL with {fresh} in it.
const assert = require('node:assert/strict');
const {spawn} = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const readline = require('node:readline');
const {setTimeout: sleep} = require('node:timers/promises');

const lockkeeper = require(process.env.LK_NODE_PACKAGE);

// How many times longer than else times are, on a machine that is busy (tests/timed).
const STRETCH = Number(process.env.LK_TEST_STRETCH ?? 1);
const PATIENCE_MS = 50_000 + 10_000 * STRETCH; // longer than any time that a case waits for
const [pattern, lk] = process.argv.slice(2);
const place = fs.mkdtempSync(path.join(os.tmpdir(), 'lk-node-'));
const cases = [];
const services = [];
let count = 0;

// ---- other processes ----

class Program {
    constructor(words, options) {
        this.process = spawn(words[0], words.slice(1), {stdio: ['pipe', 'pipe', 'inherit'], ...options});
        this.lines = readline.createInterface({input: this.process.stdout})[Symbol.asyncIterator]();
        this.ended = new Promise((resolve) => {
            this.process.once('exit', (code, signal) => resolve(code ?? signal));
        });
    }

    async heard() {
        return (await this.lines.next()).value;
    }

    say(line) {
        this.process.stdin.write(`${line}\n`);
    }

    kill(signal = 'SIGKILL') {
        this.process.kill(signal);
    }

    // The exit code, or the name of the signal that ended it.
    ends() {
        this.process.stdin.end();
        return this.ended;
    }
}

// Another Node.js, with `lockkeeper`, an open `store`, `say(line)` and `await hear()`.
function program(url, source) {
    return new Program([process.execPath, '-e', `
        const lockkeeper = require(${JSON.stringify(process.env.LK_NODE_PACKAGE)});
        const say = (line) => require('node:fs').writeSync(1, line + '\\n');
        const hear = () => new Promise((resolve) => process.stdin.once('data', resolve).once('end', resolve));
        (async () => {
            const store = await lockkeeper.open(${JSON.stringify(url)});
            ${source}
        })().catch((error) => {
            console.error(error);
            process.exit(70);
        });`]);
}

async function until(condition, what = 'it') {
    const last = Date.now() + PATIENCE_MS;
    while (!await condition()) {
        assert(Date.now() < last, `${what} has not happened`);
        await sleep(5);
    }
}

async function stopped(one) {
    one.kill('SIGSTOP');
    await until(() => / \(.*\) T /.test(fs.readFileSync(`/proc/${one.process.pid}/stat`, 'utf8')), 'the stop');
}

// ---- stores ----

async function fresh() {
    count += 1;
    const file = path.join(place, `t${count}`);
    if (pattern !== 'service') {
        return pattern.replace('{fresh}', file);
    }
    const service = new Program(
        [lk, 'serve', '--unix', file, '--listen', 'none', '--http', 'none', '--ephemeral']);
    services.push(service);
    await service.heard(); // its address: it is there
    return `lk+unix:${file}`;
}

async function holds(store, owner, held = true) {
    return (await store.list()).some((entry) => entry.owner === owner && entry.held === held);
}

function waits(store, owner) {
    return holds(store, owner, false);
}

// The file of a store that is not to answer, or is again.
function move(from, to) {
    fs.readdirSync(place).filter((name) => name.startsWith(path.basename(from)))
        .forEach((name) => fs.renameSync(path.join(place, name), path.join(place, name).replace(from, to)));
}

// An error of this class, or with this code.
async function rejects(kind, call) {
    let raised;
    try {
        await (typeof call === 'function' ? call() : call);
    } catch (error) {
        raised = error;
    }
    assert(raised instanceof kind && raised.message !== '', `found ${raised}, wanted ${kind.name}`);
    return raised;
}

// ---- cases ----

function test(name, body) {
    cases.push([name, body]);
}

async function main() {
    let failed = 0;
    process.exitCode = 1; // also if the event loop ends before the cases do
    const alive = setInterval(() => undefined, 1000); // a lease alone does not keep it running
    for (const [i, [name, body]] of cases.entries()) {
        try {
            const url = await fresh();
            const store = await lockkeeper.open(url);
            try {
                await body(store, url);
            } finally {
                await store.close();
            }
            console.log(`ok ${i + 1} - ${name}`);
        } catch (error) {
            failed += 1;
            console.log(`not ok ${i + 1} - ${name}`);
            console.log(String(error.stack).replace(/^/gm, '# '));
        }
    }
    console.log(`1..${cases.length}`);
    for (const service of services) {
        service.kill();
        await service.ended;
    }
    fs.rmSync(place, {recursive: true});
    clearInterval(alive);
    process.exitCode = failed === 0 ? 0 : 1;
}

module.exports = {STRETCH, assert, lockkeeper, lk, place, sleep, Program, program, until, stopped, fresh, holds, waits,
    move, rejects, test, main};
