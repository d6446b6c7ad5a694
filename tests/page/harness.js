// SPDX-License-Identifier: Apache-2.0
// A private service, a headless browser, and cases that report in TAP.
"use strict";
const assert = require("node:assert");
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const { createRequire } = require("node:module");
const net = require("node:net");
const os = require("node:os");
const path = require("node:path");

// How many times longer than else times are, on a machine that is busy (tests/timed).
const STRETCH = Number(process.env.LK_TEST_STRETCH || 1);
const PATIENCE_MS = 60000 * STRETCH;
const BROWSERS = ["chromium", "chromium-browser", "google-chrome"];
const [lk, modules] = process.argv.slice(2);
const cases = [];
const running = new Set();
let browser = null;

function playwright() {
    try {
        return createRequire(path.join(modules, "node_modules"))("playwright-core");
    } catch (error) {
        throw new Error(`no playwright-core in ${modules}: run tools/install-deps test (${error.code})`);
    }
}

function chromium() {
    for (const place of process.env.PATH.split(":")) {
        for (const name of BROWSERS) {
            if (fs.existsSync(path.join(place, name))) {
                return path.join(place, name);
            }
        }
    }
    throw new Error("no chromium: run tools/install-deps test");
}

// ---- the service -------------------------------------------------------------------------------

class Service {
    constructor() {
        this.place = fs.mkdtempSync(path.join(os.tmpdir(), "lk-page-"));
        this.store = `lk+unix:${this.place}/socket`;
    }

    // Starts it, or starts it again at the same address.
    async start(...options) {
        this.options = options;
        this.process = spawn(lk, ["serve", "--unix", `${this.place}/socket`, "--listen", "127.0.0.1:0",
            "--http", this.http?.replace(/^https?:\/\//, "") ?? "127.0.0.1:0",
            ...(options.includes("--ephemeral") ? [] : ["--dir", `${this.place}/state`]), ...options],
        { stdio: ["ignore", "pipe", "ignore"] });
        running.add(this.process);
        let text = "";
        for await (const piece of this.process.stdout) {
            text += piece;
            if (/^https?:.*\n/m.test(text)) {
                break;
            }
        }
        this.http = /^https?:\/\/\S+/m.exec(text)[0];
        this.resp = /^lks?:\/\/\S+/m.exec(text)[0].replace(/^lks?:\/\//, "");
        return this;
    }

    async end(signal = "SIGKILL") {
        if (this.process.exitCode === null && this.process.signalCode === null) {
            const gone = new Promise((resolve) => this.process.once("exit", resolve));
            this.process.kill(signal);
            await gone;
        }
        running.delete(this.process);
    }

    async remove() {
        await this.end();
        fs.rmSync(this.place, { recursive: true, force: true });
    }

    // Runs lk on it; `code`: the exit code that is expected.
    lk(...words) {
        return this.lkCode(0, ...words);
    }

    lkCode(code, ...words) {
        return this.lkWith({}, code, ...words);
    }

    // `store`: another URL of it; `input`: what lk reads. Leases last longer than a page takes to be
    // looked at, however slow the browser is.
    lkWith({ store = this.store, input = "" }, code, ...words) {
        if (words[0] === "acquire" && !words.includes("--ttl")) {
            words.push("--ttl", "1h");
        }
        const environment = { ...process.env, LK_STORE: store, TZ: "UTC" };
        let status = 0;
        let output = "";
        try {
            output = execFileSync(lk, words, {
                env: environment, encoding: "utf8", input, stdio: ["pipe", "pipe", "pipe"],
            });
        } catch (error) {
            status = error.status;
            output = error.stderr;
        }
        assert.strictEqual(status, code, `lk ${words.join(" ")}: ${output}`);
        return output;
    }

    // A request over HTTP, which must succeed.
    async post(route, body) {
        const answer = await fetch(this.http + route, {
            method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" },
        });
        assert.ok(answer.ok, `${route}: ${answer.status} ${await answer.text()}`);
    }

    // Lines of RESP, pipelined, until all are answered.
    async pipeline(lines) {
        const [host, port] = this.resp.split(":");
        const socket = net.connect(Number(port), host);
        await new Promise((resolve, reject) => {
            let last = "";
            socket.on("error", reject);
            socket.on("data", (piece) => {
                last = (last + piece.toString("latin1")).slice(-16);
                if (last.endsWith("+PONG\r\n")) {
                    resolve();
                }
            });
            socket.write(`${[...lines, "PING"].join("\r\n")}\r\n`);
        });
        socket.destroy();
    }
}

// ---- the page ----------------------------------------------------------------------------------

/*
 * Opens the page in a tab of its own. Whatever the browser complains of is collected in
 * page.complaints: violations of the policy, errors of scripts, and of the network unless the case
 * provokes them.
 */
async function open(service, { hash = "", mayFail = false, ...options } = {}) {
    const context = await browser.newContext({
        viewport: { width: 1280, height: 720 }, timezoneId: "UTC", locale: "en-US", ...options,
    });
    const page = await context.newPage();
    page.complaints = [];
    page.setDefaultTimeout(PATIENCE_MS);
    await page.addInitScript(() => {
        document.addEventListener("securitypolicyviolation", (event) =>
            console.error(`violation of ${event.violatedDirective}: ${event.blockedURI}`));
    });
    page.on("pageerror", (error) => page.complaints.push(String(error)));
    page.on("console", (message) => {
        const isOfNetwork = message.text().startsWith("Failed to load resource");
        if (message.type() !== "log" && !(isOfNetwork && mayFail)) {
            page.complaints.push(message.text());
        }
    });
    page.on("requestfailed", (request) => {
        if (!mayFail && request.failure().errorText !== "net::ERR_ABORTED") {
            page.complaints.push(`${request.url()}: ${request.failure().errorText}`);
        }
    });
    opened.push(page);
    await page.goto(`${service.http}/${hash}`);
    return page;
}
let opened = [];

async function live(page) {
    await page.waitForFunction(() => document.body.dataset.status === "live");
}

// The rows that are drawn, from above: "PATH|STATE MODE|OWNER|NOTE", as they are read, without ages.
async function rows(page) {
    return page.evaluate(() => [...document.querySelectorAll("#canvas .row")]
        .sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)
        .map((row) => ["path", "what", "owner", "note"].map((cell) =>
            [...row.querySelectorAll(`.${cell}.cell *`)].filter((part) => part.children.length === 0
                && part.ariaHidden !== "true" && !part.matches(".oldest")).map((part) => part.textContent)
                .filter((text) => text !== "").join(" ")).join("|")));
}

// Waits until the drawn rows are these.
async function awaitRows(page, expected) {
    const deadline = Date.now() + PATIENCE_MS;
    let seen = await rows(page);
    while (JSON.stringify(seen) !== JSON.stringify(expected)) {
        if (Date.now() > deadline) {
            assert.deepStrictEqual(seen, expected);
        }
        await page.evaluate(() => new Promise((resolve) => {
            requestAnimationFrame(resolve);
        }));
        seen = await rows(page);
    }
}

// Waits until the element's text fits the pattern.
async function awaitText(page, selector, pattern) {
    await page.waitForFunction(([where, source]) =>
        new RegExp(source, "s").test(document.querySelector(where)?.textContent ?? ""),
    [selector, pattern.source]).catch(async (error) => {
        const text = await page.textContent(selector).catch(() => "(it is not there)");
        throw new Error(`${selector} is ${JSON.stringify(text)}, not ${pattern}: ${error.message}`);
    });
}

// A row by what it says.
function row(page, text) {
    return page.locator("#canvas .row", { hasText: text });
}

async function closeTabs() {
    for (const page of opened.splice(0)) {
        const { complaints } = page;
        await page.context().close();
        assert.deepStrictEqual(complaints, [], "the browser complained");
    }
}

// ---- cases -------------------------------------------------------------------------------------

// A case gets a service of its own, started with the options.
function add(name, options, run) {
    cases.push({ name, options, run });
}

async function runCase({ options, run }) {
    const service = new Service();
    try {
        await service.start(...options);
        await run(service);
        await closeTabs();
    } finally {
        opened.splice(0);
        await service.remove();
    }
}

async function runAll() {
    let failed = 0;
    try {
        browser = await playwright().chromium.launch({
            executablePath: chromium(), args: ["--no-sandbox", "--disable-dev-shm-usage"],
        });
    } catch (error) {
        console.log(`1..1\nnot ok 1 - a browser starts\n# ${error.message.replace(/\n/g, "\n# ")}`);
        process.exit(1);
    }
    const only = process.env.LK_TEST_ONLY ?? "";
    const chosen = cases.filter(({ name }) => name.includes(only));
    console.log(`1..${chosen.length}`);
    for (const [at, one] of chosen.entries()) {
        const began = performance.now();
        try {
            await runCase(one);
            console.log(`ok ${at + 1} - ${one.name}\n# ${Math.round(performance.now() - began)} ms`);
        } catch (error) {
            failed++;
            console.log(`not ok ${at + 1} - ${one.name}`);
            console.log(String(error.stack ?? error).replace(/^/gm, "# "));
        }
    }
    await browser.close();
    process.exit(failed > 0 ? 1 : 0);
}

process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

module.exports = {
    PATIENCE_MS, Service, add, assert, awaitRows, awaitText, live, open, row, rows, runAll,
};
