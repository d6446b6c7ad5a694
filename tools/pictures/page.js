#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
/*
 * usage: tools/pictures/page.js LK MODULES DIRECTORY
 *
 * Pictures of the page of `lk serve`, with a service of its own and what tests/page drives a browser
 * with: wide and as wide as a phone, light and dark. They are written to DIRECTORY as PNG;
 * tools/pictures/take makes them small.
 */
"use strict";
const path = require("node:path");
const { add, awaitText, live, open, row, runAll } = require("../../tests/page/harness");

const into = process.argv[4];
const WIDE = { viewport: { width: 1120, height: 600 } };
const PHONE = { viewport: { width: 390, height: 740 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };

function pause(ms) {
    return new Promise((resolve) => {
        setTimeout(resolve, ms);
    });
}

// Asks of several tools at once, with a little time between them so that there are ages to see.
async function scene(service) {
    const ask = (owner, part, ...words) => service.lk("acquire", part, "--owner", owner, ...words);
    const queue = (owner, part, ...words) =>
        service.lkCode(75, "acquire", part, "--owner", owner, "--queue", ...words);
    service.lk("put", "imports/orders", "row 4711");
    ask("importer", "imports/orders", "--value");
    ask("release", "release-train", "--note", "freeze for 2.0", "--ttl", "3d");
    ask("deploy-88", "staging/eu/db", "--ttl", "15m", "--note", "deploy 88");
    service.lk("break", "imports/orders", "--now", "--reason", "its machine is gone");
    await pause(2000);
    ask("ci-4711", "mydatabase/mytest", "--note", "make test", "--ttl", "2m");
    ask("ci-4712", "mydatabase/yourtest", "--note", "make test", "--ttl", "90s");
    await pause(2000);
    queue("reset", "mydatabase", "--note", "load fixtures", "--ttl", "10m");
    for (const unit of [1, 2, 3]) {
        ask(`train-${unit}`, "cluster/gpu?limit=3", "--ttl", "1h");
    }
    await pause(1000);
    queue("ci-4713", "mydatabase/thirdtest", "--ttl", "5m");
    queue("train-4", "cluster/gpu?limit=3", "--ttl", "5m");
    ask("ui-tests", "web?shared", "--ttl", "5m");
    for (let item = 1; item <= 12; item++) {
        service.lk("push", "mails", `letter-${item}`, "text");
    }
    service.lk("claim", "mails", "--owner", "mailer-1", "--ttl", "1m", "--max-attempts", "1");
    await service.post("/v1/retry", { queue: "mails", id: "letter-1", owner: "mailer-1", error: "no such address" });
    service.lk("claim", "mails", "--owner", "mailer-1", "--ttl", "5m");
}

async function take(service, name, options, prepare) {
    const page = await open(service, options);
    await live(page);
    await row(page, "release-train").waitFor();
    if (prepare !== undefined) {
        await prepare(page);
    }
    await page.screenshot({ path: path.join(into, `${name}.png`) });
}

async function chooseWaiter(page) {
    await row(page, "ci-4713").click();
    await awaitText(page, "#details-chain", /ci-4712 holds/);
}

async function chooseQueue(page) {
    await row(page, "queue:").click();
    await awaitText(page, "#details-queue", /no such address/);
}

add("the pictures of the page", [], async (service) => {
    await service.end();
    service.http = "http://127.0.0.1:7421"; // it is in the picture
    await service.start();
    await scene(service);
    await take(service, "page", WIDE, chooseWaiter);
    await take(service, "page-dark", { ...WIDE, colorScheme: "dark" }, chooseQueue);
    await take(service, "page-phone", PHONE);
    await take(service, "page-phone-dark", { ...PHONE, colorScheme: "dark" }, chooseWaiter);
});

runAll();
