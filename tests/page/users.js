#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The page of a service with users and TLS, as the right and the wrong user: usage: users.js LK MODULES.
"use strict";
const { execFileSync } = require("node:child_process");
const path = require("node:path");
const { add, assert, awaitRows, awaitText, live, open, row, runAll } = require("./harness");

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
