#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// How the page of a service is reached, and what it does when it is not; and with users and TLS, as the right
// and the wrong user: usage: access.js LK MODULES.
"use strict";
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const { add, assert, awaitRows, awaitText, live, open, row, runAll } = require("./harness");

// fetch() does not let the Host be chosen.
function request(service, method, route, headers = {}) {
    return new Promise((resolve, reject) => {
        http.request(service.http + route, { method, headers }, (answer) => {
            const pieces = [];
            answer.on("data", (piece) => pieces.push(piece));
            answer.on("end", () => resolve({
                status: answer.statusCode, headers: answer.headers, body: Buffer.concat(pieces).toString(),
            }));
        }).on("error", reject).end();
    });
}

async function lookAtHeaders(service) {
    const page = await request(service, "GET", "/");
    const policy = page.headers["content-security-policy"];
    assert.strictEqual(page.status, 200);
    assert.strictEqual(page.headers["content-type"], "text/html; charset=utf-8");
    for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
        "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"]) {
        assert.ok(policy.split("; ").includes(rule), policy);
    }
    assert.ok(!policy.includes("unsafe"), policy);
    assert.strictEqual(page.headers["x-content-type-options"], "nosniff");
    assert.strictEqual(page.headers["referrer-policy"], "no-referrer");
    assert.strictEqual(page.headers["cache-control"], "no-cache");
    for (const file of page.body.match(/\/page\/\w+\.\w+/g)) {
        const answer = await request(service, "GET", file);
        const tag = answer.headers.etag;
        assert.strictEqual(answer.status, 200, file);
        assert.strictEqual(Number(answer.headers["content-length"]), Buffer.byteLength(answer.body));
        const known = await request(service, "GET", file, { "If-None-Match": `"other", ${tag}` });
        assert.deepStrictEqual([known.status, known.body, known.headers.etag], [304, "", tag]);
        const head = await request(service, "HEAD", file);
        assert.deepStrictEqual([head.status, head.body, head.headers["content-length"]],
            [200, "", answer.headers["content-length"]]);
        const other = await request(service, "POST", file, { "Content-Type": "application/json" });
        assert.deepStrictEqual([other.status, other.headers.allow], [405, "GET, HEAD"]);
    }
    assert.strictEqual((await request(service, "GET", "/page/harness.js")).status,
        service.options.length > 0 ? 401 : 404);
    // A site that is not this one: neither under a name of its own, nor from its scripts.
    assert.strictEqual((await request(service, "GET", "/", { Host: "evil.example" })).status,
        service.options.length > 0 ? 200 : 403);
    assert.strictEqual((await request(service, "GET", "/", { Origin: "http://evil.example" })).status, 403);
}

add("the page's files are confined, kept by their tags, and the same with a password", [], async (service) => {
    await lookAtHeaders(service);
    const file = path.join(service.place, "password");
    fs.writeFileSync(file, "open sesame\n", { mode: 0o600 });
    await service.end("SIGTERM");
    await service.start("--password-file", file);
    await lookAtHeaders(service);
});

add("a lost connection is told, and found again", [], async (service) => {
    service.lk("acquire", "before", "--owner", "a", "--ttl", "10m");
    const page = await open(service, { mayFail: true });
    await row(page, "before").waitFor();
    await live(page);
    await service.end();
    await awaitText(page, "#banner-text", /^Connection lost at \d\d:\d\d:\d\d: .*; trying again .* What is shown is as it was then, \d+s ago\.$/);
    await awaitText(page, "#announcer", /^Connection lost/);
    assert.ok(Number(await row(page, "before").evaluate((one) => getComputedStyle(one).opacity)) < 1);
    assert.strictEqual(await page.locator("[data-status=lost]").count(), 1);

    // A break whose answer is lost may have happened.
    await row(page, "before").click();
    await page.click("#details-break");
    await page.fill("#break-reason", "whatever");
    await page.click("#break-submit");
    await awaitText(page, "#break-error", /it is unknown whether/);
    await page.click("#break-cancel");

    await service.start();
    service.lk("acquire", "after", "--owner", "b");
    await page.click("#banner-action").catch(() => {}); // unless it is connected already
    await awaitRows(page, ["after|held exclusive|b|", "before|held exclusive|a|"]);
    await live(page);
    assert.ok(await page.isHidden("#banner"));
    service.lk("release", "before", "--owner", "a");
    await awaitRows(page, ["after|held exclusive|b|"]);
});

add("events that were missed are a gap, and everything is listed again", ["--ephemeral"], async (service) => {
    const page = await open(service, { mayFail: true });
    await live(page);
    service.lk("acquire", "a", "--owner", "a");
    await row(page, "a").first().waitFor();
    await service.end();
    await service.start("--ephemeral"); // which remembers nothing
    service.lk("acquire", "b", "--owner", "b");
    await awaitRows(page, ["b|held exclusive|b|"]);
    await awaitText(page, "#details-events", /events were missed here; everything was listed again/);
});

async function withPassword(service) {
    const file = path.join(service.place, "password");
    fs.writeFileSync(file, "p\u00e4ss:word\n", { mode: 0o600 });
    await service.end("SIGTERM");
    await service.start("--password-file", file);
    service.store += `?password-file=${file}`;
}

add("a password is asked for, and kept nowhere", [], async (service) => {
    await withPassword(service);
    service.lk("acquire", "secret/path", "--owner", "a");
    const page = await open(service, { mayFail: true });
    await page.waitForSelector("#login-dialog[open]");
    assert.strictEqual(await page.textContent("#login-error"), "");
    const focused = async () => page.evaluate(() => document.activeElement.id);
    assert.strictEqual(await focused(), "login-user");
    assert.strictEqual(await page.locator("#canvas .row").count(), 0);
    await page.fill("#login-user", "ana");
    await page.fill("#login-password", "wrong");
    await page.keyboard.press("Enter");
    await awaitText(page, "#login-error", /^User or password is wrong\.$/);
    assert.strictEqual(await focused(), "login-password");
    await page.fill("#login-password", "p\u00e4ss:word");
    await page.click("#login-submit");
    await awaitRows(page, ["secret/path|held exclusive|a|"]);
    assert.ok(await page.isHidden("#login-dialog"));
    assert.strictEqual(await page.inputValue("#login-password"), "");

    // Who breaks is who has logged in.
    await row(page, "secret").click();
    await page.click("#details-break");
    assert.ok(await page.isHidden("#break-by-field"));
    await page.fill("#break-reason", "old");
    await page.click("#break-submit");
    await awaitText(page, "#break-result-body", /broken by ana: old/);
    await page.click("#break-close");

    const kept = await page.evaluate(() => [
        JSON.stringify(window.localStorage), JSON.stringify(window.sessionStorage), document.cookie].join());
    assert.strictEqual(kept, "{},{},");
    assert.deepStrictEqual(await page.context().cookies(), []);
    await page.click("#log-out");
    await page.waitForSelector("#login-dialog[open]");
    assert.strictEqual(await page.locator("#canvas .row").count(), 0);
    await page.keyboard.press("Escape");
    await awaitText(page, "#banner-text", /^This service asks for a password\.$/);
    await page.click("#banner-action");
    await page.waitForSelector("#login-dialog[open]");
});

// As a service with users answers: DENIED where the user has no right.
async function deny(page, pattern) {
    await page.route(pattern, (route) => route.fulfill({
        status: 403, contentType: "application/json", body: "{\"status\":\"denied\",\"error\":\"ana may not\"}",
    }));
}

add("what a user may not do is told, and the rest goes on", [], async (service) => {
    service.lk("acquire", "a", "--owner", "a1");
    const page = await open(service, { mayFail: true });
    await live(page);
    await deny(page, "**/v1/break");
    await row(page, "a1").click();
    await page.click("#details-break");
    await page.fill("#break-reason", "please");
    await page.click("#break-submit");
    await awaitText(page, "#break-error", /^Denied: ana may not$/);
    await page.click("#break-cancel");

    // Without the right to follow, the page lists from time to time.
    const other = await open(service, { mayFail: true, hash: "#/" });
    await deny(other, "**/v1/events*");
    await other.reload();
    await awaitText(other, "#connection-text", /^read every 5 s$/);
    await row(other, "a1").waitFor();

    const third = await open(service, { mayFail: true });
    await deny(third, "**/v1/*");
    await third.reload();
    await awaitText(third, "#banner-text", /^You may not see this: ana may not\.$/);
});

// The contrast of text on what is behind it (WCAG 2, 1.4.3), of the elements that are seen.
function poorContrasts() {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const read = (color) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = (color) => {
        const [r, g, b] = color.map((part) => part / 255)
            .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (node) => {
        for (let one = node; one; one = one.parentElement) {
            const color = read(getComputedStyle(one).backgroundColor);
            if (color[3] === 255) {
                return color;
            }
        }
        return [255, 255, 255, 255];
    };
    const poor = new Set();
    for (const node of document.querySelectorAll("body *")) {
        const hasText = [...node.childNodes].some((child) =>
            child.nodeType === Node.TEXT_NODE && child.data.trim() !== "");
        if (hasText && node.checkVisibility() && !["SCRIPT", "STYLE", "OPTION"].includes(node.tagName)) {
            const both = [light(read(getComputedStyle(node).color)), light(ground(node))];
            const contrast = (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
            if (contrast < 4.5) {
                poor.add(`${node.tagName} ${node.className} ${contrast.toFixed(2)}: ${node.textContent}`);
            }
        }
    }
    return [...poor];
}

add("light and dark, wide and as narrow as a phone", [], async (service) => {
    service.lk("acquire", "db/t1", "--owner", "one", "--note", "make test");
    service.lkCode(75, "acquire", "db", "--owner", "reset", "--queue");
    service.lk("acquire", "pool?limit=4", "--owner", "a-long-name-of-an-owner@machine-17.example.com/4711");
    service.lk("push", "mails", "m1");
    const grounds = new Set();
    for (const colorScheme of ["light", "dark"]) {
        for (const width of colorScheme === "light" ? [1280, 800, 360] : [1280, 360]) {
            const page = await open(service, { colorScheme, viewport: { width, height: 640 } });
            await row(page, "reset").waitFor();
            await live(page);
            const check = async (what) => {
                assert.deepStrictEqual(await page.evaluate(poorContrasts), [], `${what}, ${colorScheme}`);
                const scrolls = await page.evaluate(() => ["html", "body", "#grid", "#details"]
                    .map((part) => document.querySelector(part)).map((part) => part.scrollWidth - part.clientWidth));
                assert.deepStrictEqual(scrolls, [0, 0, 0, 0], `${what} at ${width}`);
            };
            await check("the tree");
            await row(page, "reset").click();
            await awaitText(page, "#details-chain", /one holds db\/t1/);
            await check("details");
            await page.click("#details-break");
            await check("a dialog");
            const box = await page.locator("#break-dialog").boundingBox();
            assert.ok(box.x >= 0 && box.x + box.width <= width && box.y >= 0, JSON.stringify(box));
            await page.click("#break-cancel");
            grounds.add(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
        }
    }
    assert.strictEqual(grounds.size, 2);
});

// ---- users

const USERS = {
    ana: ["lock,read,watch,put:team/a", "lock,read,watch,put:shared"],
    ben: ["lock,read,watch:team/b", "lock,read,watch:shared/b"],
    eve: ["read:team/a"],
    ops: ["all:/"],
};

// A certificate, the users, and the service with both. Scripts of the test come by the Unix socket.
async function withUsers(service) {
    const [key, certificate, users] = ["key", "certificate", "users"].map((name) => path.join(service.place, name));
    execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc",
        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key,
        "-out", certificate], { stdio: "ignore" });
    for (const [user, rules] of Object.entries(USERS)) {
        service.lkWith({ input: `of ${user}\n` }, 0, "passwd", users, user,
            ...rules.flatMap((rule) => ["--allow", rule]));
    }
    await service.end("SIGTERM");
    service.http = undefined;
    await service.start("--users", users, "--tls-cert", certificate, "--tls-key", key);
    assert.ok(service.http.startsWith("https://"));
}

function lkAs(service, user, code, ...words) {
    const store = `${service.store}?user=${user}&password=of%20${user}`;
    return service.lkWith({ store }, code, ...words);
}

async function enter(service, user, password = `of ${user}`) {
    const page = await open(service, { mayFail: true, ignoreHTTPSErrors: true });
    await page.waitForSelector("#login-dialog[open]");
    await page.fill("#login-user", user);
    await page.fill("#login-password", password);
    await page.keyboard.press("Enter");
    return page;
}

add("users see what they may see, over TLS", [], async (service) => {
    await withUsers(service);
    lkAs(service, "ana", 0, "acquire", "team/a/one", "--owner", "anas", "--note", "secret plan");
    lkAs(service, "ana", 0, "acquire", "shared/b/y", "--owner", "anas");
    lkAs(service, "ops", 75, "acquire", "shared", "--owner", "reset", "--note", "secret too", "--queue");
    lkAs(service, "ben", 0, "acquire", "team/b/one", "--owner", "bens");
    lkAs(service, "ben", 75, "acquire", "shared/b/x", "--owner", "bens", "--queue");

    const anas = await enter(service, "ana");
    await live(anas);
    await awaitRows(anas, ["shared|waiting exclusive|reset of ops|secret too", "b|1 held, 1 waiting||",
        "x|waiting exclusive|bens of ben|", "y|held exclusive|anas of ana|",
        "team/a/one|held exclusive|anas of ana|secret plan"]);
    await row(anas, "bens").click();
    await awaitText(anas, "#details-chain", /reset of ops waits ahead for shared.*anas of ana holds shared\/b\/y/);
    // What is in the way where a user may not look says no more than that.
    const bens = await enter(service, "ben");
    await awaitRows(bens, ["shared/b|1 held, 1 waiting||", "x|waiting exclusive|bens of ben|",
        "y|held exclusive|anas of ana|", "team/b/one|held exclusive|bens of ben|"]);
    await bens.locator("#canvas .row[data-state=waiting]").click();
    await awaitText(bens, "#details-chain", /^It waits foranother user waits ahead for shared, \S+ left/);
    assert.ok(!(await bens.content()).includes("secret"));
    lkAs(service, "ana", 0, "acquire", "team/a/two", "--owner", "anas");
    await row(anas, "two").waitFor();
    lkAs(service, "ben", 0, "acquire", "team/b/two", "--owner", "bens");
    await row(bens, "two").waitFor();
    assert.strictEqual(await row(bens, "team/a").count(), 0);

    // Without the right to watch there are no events: it is read from time to time.
    const eves = await enter(service, "eve");
    await awaitRows(eves, ["team/a|2 held||", "one|held exclusive|anas of ana|secret plan",
        "two|held exclusive|anas of ana|"]);
    lkAs(service, "ana", 0, "release", "team/a/one", "--owner", "anas");
    await awaitRows(eves, ["team/a/two|held exclusive|anas of ana|"]);
});

add("a break needs its right, and is recorded under the user's name", [], async (service) => {
    await withUsers(service);
    lkAs(service, "ana", 0, "acquire", "team/a/one", "--owner", "anas");
    const anas = await enter(service, "ana");
    const breakIt = async (page) => {
        await row(page, "team/a/one").click();
        await page.click("#details-break");
        assert.ok(await page.isHidden("#break-by-field"));
        await page.fill("#break-reason", "it hangs");
        await page.click("#break-submit");
    };
    await breakIt(anas);
    await awaitText(anas, "#break-error", /^Denied: the user ana has no right to break: team\/a\/one/);
    await anas.click("#break-cancel");

    const operators = await enter(service, "ops");
    await breakIt(operators);
    await awaitText(operators, "#break-result-body", /broken by ops: it hangs/);
    await awaitRows(anas, ["team/a/one|broken exclusive|anas of ana|"]);
    await awaitText(anas, "#details-events", /broken, of anas of ana by ops: it hangs/);

    const strangers = await enter(service, "ops", "of eve");
    await awaitText(strangers, "#login-error", /^User or password is wrong\.$/);
    assert.strictEqual(await strangers.locator("#canvas .row").count(), 0);
});

runAll();
