#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// What the page of a service shows: usage: shows.js LK MODULES.
"use strict";
const { execFileSync } = require("node:child_process");
const { add, assert, awaitRows, awaitText, live, open, row, rows, runAll } = require("./harness");

const MANY = 10000;

add("holders and waiters are drawn, and what changes appears by itself", [], async (service) => {
    service.lk("acquire", "mydatabase/mytest", "--owner", "ana", "--note", "make test");
    service.lk("acquire", "web?shared", "--owner", "ui");
    service.lkCode(75, "acquire", "mydatabase", "--owner", "reset", "--queue");
    const page = await open(service);
    await awaitRows(page, [
        "mydatabase|waiting exclusive|reset|",
        "mytest|held exclusive|ana|make test",
        "web|held shared|ui|",
    ]);
    await awaitText(page, "#totals", /^2 held · 1 waiting · longest wait \d+/);

    service.lk("release", "mydatabase/mytest", "--owner", "ana");
    await awaitRows(page, ["mydatabase|held exclusive|reset|", "web|held shared|ui|"]);
    service.lk("acquire", "pool?limit=3&units=2", "--owner", "p");
    await awaitRows(page, ["mydatabase|held exclusive|reset|", "pool|held 2 of 3|p|",
        "web|held shared|ui|"]);
    service.lk("acquire", "short", "--owner", "s", "--ttl", "50ms");
    await awaitText(page, "#details-events", /short granted to s/);
    await awaitText(page, "#details-events", /short perished, of s/);
    await awaitRows(page, ["mydatabase|held exclusive|reset|", "pool|held 2 of 3|p|",
        "web|held shared|ui|"]);
});

add("a waiter's chain goes down to the holders", [], async (service) => {
    service.lk("acquire", "db/t1", "--owner", "one", "--note", "make test");
    service.lk("acquire", "db/t2", "disk", "--owner", "two");
    service.lkCode(75, "acquire", "db", "--owner", "reset", "--queue", "--note", "load");
    service.lkCode(75, "acquire", "db/t3", "--owner", "last", "--queue");
    const page = await open(service);
    await row(page, "last").click();
    await awaitText(page, "#details-title", /^db\/t3$/);
    await awaitText(page, "#details-chain", new RegExp("^It waits forreset waits ahead for db, \\S+ left \\(load\\)"
        + "one holds db/t1, \\S+ left \\(make test\\)two holds db/t2, \\S+ left$"));
    assert.strictEqual(await page.locator(".chain .chain .step.held").count(), 2);
    const marked = async () => page.locator(".row[data-chain] .owner").allTextContents();
    assert.deepStrictEqual((await marked()).sort(), ["one", "reset", "two"]);

    // From a holder to those that wait for it, and back by the chain.
    await page.locator(".chain .link", { hasText: "two" }).click();
    await awaitText(page, "#details-title", /^db\/t2$/);
    // Durations are there at once, and not only when the clock ticks next.
    assert.doesNotMatch(await page.locator("#details-facts").textContent(), /Held,|Left,/);
    await awaitText(page, "#details-facts", /Withdisk/);
    await awaitText(page, "#details-behind", /Waiting behind it: 1reset wants db/);
    service.lk("release", "db/t2", "disk", "--owner", "two");
    await awaitText(page, "#details-facts", /^Endedreleased at 20/);
    await row(page, "last").click();
    await awaitText(page, "#details-chain", /waits ahead for db.*one holds db\/t1/);
    service.lk("release", "db/t1", "--owner", "one");
    await awaitText(page, "#details-chain", /^It waits forreset holds db, \S+ left \(load\)$/);
    assert.deepStrictEqual(await marked(), ["reset"]);
});

add("an empty service says how to take the first lock", [], async (service) => {
    const page = await open(service);
    await page.waitForSelector("#empty");
    const command = await page.textContent("#example");
    const answer = JSON.parse(execFileSync("sh", ["-c", command], { stdio: ["ignore", "pipe", "ignore"] }));
    assert.strictEqual(answer.status, "granted");
    await awaitRows(page, ["mydatabase/mytest|held exclusive|me|a first lock"]);
    assert.ok(await page.isHidden("#empty"));
});

add("queues show their items, and why one was parked", [], async (service) => {
    service.lk("push", "mails", "m1", "a text");
    service.lk("push", "mails", "m2");
    service.lk("claim", "mails", "--owner", "w");
    const page = await open(service);
    await awaitRows(page, ["mails|1 held queue: 1 ready, 1 claimed||",
        "m1|held exclusive|w|"]);
    service.lk("push", "bad", "b1");
    service.lk("claim", "bad", "--owner", "w", "--max-attempts", "1");
    await service.post("/v1/retry", {
        queue: "bad", id: "b1", owner: "w", exit: 3, error: "no such address",
    });
    await row(page, "queue: 1 parked").click();
    await awaitText(page, "#details-queue", /b1no such addressparked1$/);
    await page.check("input[value=work]", { force: true });
    await awaitRows(page, ["bad|queue: 1 parked||", "mails|queue: 1 ready, 1 claimed||"]);
});

add("a queue shows the age of its oldest ready item", [], async (service) => {
    service.lk("push", "mails", "m1");
    service.lk("push", "mails", "m2");
    service.lk("push", "late", "l1", "--delay", "1h");
    const page = await open(service);
    const age = row(page, "mails").locator(".oldest");
    const texts = () => page.locator("#canvas .oldest").allTextContents();
    await awaitRows(page, ["late|queue: 1 delayed||", "mails|queue: 2 ready||"]);
    assert.match((await texts()).join(), /^oldest \d+s$/); // what is delayed is not ready
    assert.match(await age.getAttribute("title"), /^the oldest item is ready since 20/);
    await awaitText(page, "#totals", /^0 held · 0 waiting · 2 ready · oldest ready item \d+s$/);
    await row(page, "mails").click();
    await awaitText(page, "#details-queue", /The oldest ready item has been so for \d+s\.Item/);
    // It goes on by itself, here and in the details.
    const went = (selector) => awaitText(page, selector, /(oldest|so for) ([2-9]|\d\d)s/);
    await went("#canvas .oldest");
    await went("#details-queue");
    // A lock on the queue leaves the ages in its row apart.
    service.lk("acquire", "mails", "--owner", "pause");
    await awaitRows(page, ["late|queue: 1 delayed||",
        "mails queue: 2 ready|held exclusive|pause|"]);
    assert.match((await texts()).join(), /^oldest \d+s$/);
    service.lk("release", "mails", "--owner", "pause");
    service.lk("claim", "mails", "--owner", "w");
    service.lk("claim", "mails", "--owner", "w");
    await awaitText(page, "#totals", /^2 held · 0 waiting$/);
    await page.locator("#canvas .oldest").waitFor({ state: "detached" });
    await awaitText(page, "#details-queue", /stolen0Item/);
});

add("values in doubt are shown until they are written again", [], async (service) => {
    const begin = (path, ...more) => {
        service.lk("put", path, "row 17");
        service.lk("acquire", path, "--owner", path, "--value", ...more);
    };
    begin("state/import");
    begin("state/other");
    const page = await open(service);
    await awaitRows(page, ["state|2 held||", "import|held exclusive|state/import|",
        "other|held exclusive|state/other|"]);
    service.lk("break", "state/import", "--now", "--reason", "dead");
    await awaitRows(page, ["state|1 held||", "import|value in doubt||",
        "other|held exclusive|state/other|"]);
    await awaitText(page, "#totals", /^1 held · 0 waiting · 1 value in doubt$/);
    service.lk("release", "state/other", "--owner", "state/other");
    begin("state/other", "--ttl", "50ms"); // it perishes
    await page.check("input[value=doubt]", { force: true });
    await awaitRows(page, ["state|||", "import|value in doubt||", "other|value in doubt||"]);
    await row(page, "import").click();
    await awaitText(page, "#details-value", /^value in doubt Its last writer's lease perished/);
    await page.click("#details-value summary");
    await awaitText(page, "#details-value", /6 bytes, in doubt$/);
    service.lk("put", "state/import", "whole again");
    await awaitRows(page, ["state/other|value in doubt||"]);
    await awaitText(page, "#details-value", /^Value/);
    const other = await open(service, { hash: "#/state/import" });
    await awaitText(other, "#no-match-text", /^Nothing is at or below/);
});

add("hostile names are texts", [], async (service) => {
    const path = "<script>hit=1<" + "/script>&amp;\u202egnp.exe";
    const owner = "\"><svg/onload=hit=1>\u200b";
    const note = "<img src=x onerror=hit=1><b>bold</b>\u2066' --";
    const long = `${"\u00e4".repeat(127)}/${"w".repeat(255)}`;
    service.lk("acquire", path, "--owner", owner, "--note", note);
    service.lk("acquire", long, "--owner", "o".repeat(128), "--note", "n".repeat(255));
    service.lk("push", "<i>queue", "<b>item");
    for (const width of [1280, 360]) {
        const page = await open(service, { viewport: { width, height: 700 } });
        await row(page, "<i>queue").waitFor();
        const shown = await rows(page);
        assert.ok(shown.includes("<i>queue|queue: 1 ready||"), shown.join("\n"));
        assert.ok(shown.includes("<script>hit=1</script>&amp;\u2039U+202E\u203agnp.exe|held exclusive|"
            + "\"><svg/onload=hit=1>\u2039U+200B\u203a|"
            + "<img src=x onerror=hit=1><b>bold</b>\u2039U+2066\u203a' --"), shown.join("\n"));
        for (const text of ["onerror", "www", "<i>queue"]) {
            await row(page, text).click();
            await page.waitForFunction((part) => document.querySelector("#details").textContent.includes(part), text);
            const [scrolled, inner] = await page.evaluate(() => [
                [document.documentElement, document.querySelector("#details"), document.querySelector("#grid")]
                    .map((part) => part.scrollWidth - part.clientWidth).join(), window.hit]);
            assert.deepStrictEqual([scrolled, inner], ["0,0,0", undefined]);
            await page.click("#details-close");
        }
        assert.strictEqual(await page.locator("main :is(script, img, b, i, svg)").count(), 0);
    }
});

add("addresses in notes are links, and short owners leave room for them on a phone", ["--ephemeral"], async (service) => {
    const owner = "root@vm/6560:08c1c555:1a2b:65";
    const url = "https://ci.example/job/17?a=1&b=<";
    service.lk("acquire", "db", "--ttl", "1h", "--owner", owner, "--note", `see ${url}/>, (http://ci.example).`);
    service.lk("acquire", "evil", "--ttl", "1h", "--owner", "root@vm/x:08c1c555:1a2b:65", "--note",
        "javascript:hit=1 https://bank.example@evil.example/ data:text/html,x https://\u202egpj.example ftp://x");
    service.lk("break", "evil", "--reason", "see https://ci.example/why", "--now");
    service.lk("acquire", "evil", "--ttl", "1h", "--owner", "root@vm/x:08c1c555:1a2b:65", "--note",
        "javascript:hit=1 https://bank.example@evil.example/ data:text/html,x https://\u202egpj.example ftp://x");
    for (const width of [1280, 360]) {
        const page = await open(service, { viewport: { width, height: 700 } });
        await row(page, "db").waitFor();
        const links = (place) => page.locator(`${place} a`).evaluateAll((found) =>
            found.map((one) => [one.getAttribute("href"), one.textContent, one.rel, one.target]));
        const expected = ["https://ci.example/job/17?a=1&b=", "http://ci.example"]
            .map((one) => [one, one, "noopener noreferrer", "_blank"]);
        assert.deepStrictEqual(await links("#canvas"), expected);
        const text = await row(page, "db").locator(".note").textContent();
        assert.strictEqual(text, `see ${url}/>, (http://ci.example).`);
        assert.strictEqual(await row(page, "db").locator(".owner").textContent(), "root@vm/6560");
        assert.match(await row(page, "evil").locator(".owner").textContent(), /^root@vm\/x:08c1/);
        const [seen, whole] = await row(page, "db").locator(".note").evaluate((cell) => [cell.clientWidth, cell.scrollWidth]);
        assert.ok(seen >= Math.min(whole, 120), `${seen} of ${whole} at ${width}`);
        await row(page, "db").locator(".owner").click();
        await awaitText(page, "#details-facts", new RegExp(`Owner${owner}`)); // there is room for all of it
        assert.deepStrictEqual(await links("#details-facts"), expected);
    }
});

add("ten thousand requests are some dozen elements", ["--ephemeral"], async (service) => {
    const page = await open(service);
    await live(page);
    await service.pipeline(Array.from({ length: MANY }, (unused, at) =>
        `ACQUIRE farm/${String(at).padStart(5, "0")} OWNER owner-${at} NOTE note-${at}`));
    await awaitText(page, "#totals", /^10,000 held/);
    await page.waitForFunction((count) =>
        document.querySelector("#grid").ariaRowCount === String(count + 2), MANY); // titles, farm
    const sizes = async () => page.evaluate(() => [
        document.querySelectorAll("#canvas .row").length, document.querySelectorAll("*").length]);
    let [drawn, elements] = await sizes();
    assert.ok(drawn >= 20 && drawn < 60 && elements < 1500, `${drawn} rows, ${elements} elements`);
    assert.ok((await rows(page)).includes("00000|held exclusive|owner-0|note-0"));

    await page.focus("#grid");
    await page.keyboard.press("End");
    await row(page, "owner-9999").waitFor();
    [drawn, elements] = await sizes();
    assert.ok(drawn < 60 && elements < 1500, `${drawn} rows, ${elements} elements`);
    await page.evaluate(() => {
        document.querySelector("#grid").scrollTop = document.querySelector("#canvas").clientHeight / 2;
    });
    await row(page, "owner-5000").waitFor();

    // A row that stays is the same element: one request that changes leaves the others alone.
    await page.evaluate(() => {
        window.kept = [...document.querySelectorAll("#canvas .row")].find((one) =>
            one.textContent.includes("owner-5000"));
        window.writes = 0;
        new MutationObserver((list) => {
            window.writes += list.filter(({ target }) => target.parentElement?.tagName !== "TIME"
                && target.tagName !== "TIME").length;
        }).observe(document.querySelector("#canvas"), { subtree: true, childList: true, characterData: true });
    });
    service.lk("release", "farm/04999", "--owner", "owner-4999");
    await awaitText(page, "#totals", /^9,999 held/);
    const [isKept, writes] = await page.evaluate(() => [window.kept.isConnected, window.writes]);
    assert.ok(isKept && writes < 40, `${writes} changes of the document`);

    await page.fill("#filter", "OWNER-7777");
    await awaitRows(page, ["farm/07777|held exclusive|owner-7777|note-7777"]);
});

add("a flood of events is few listings", ["--ephemeral"], async (service) => {
    const page = await open(service);
    await live(page);
    let listings = 0;
    page.on("request", (request) => {
        listings += request.url().includes("/v1/requests");
    });
    const lines = [];
    for (let at = 0; at < 3000; at++) {
        lines.push(`ACQUIRE flood/${at % 50} OWNER f`, `ACQUIRE more-${at % 40} OWNER g`);
    }
    const ends = [];
    for (let round = 0; round < 10; round++) {
        for (let at = 0; at < 40; at++) {
            ends.push(`ACQUIRE gone-${at} OWNER r${round} TTL 50`);
        }
    }
    await service.pipeline([...lines, ...ends]);
    service.lk("acquire", "z/last", "--owner", "z");
    await page.fill("#filter", "last");
    await awaitRows(page, ["z/last|held exclusive|z|"]);
    await awaitText(page, "#totals", /^91 held · 0 waiting/);
    assert.ok(listings < 150, `${listings} listings`);
    assert.ok(await page.locator("#details-events li").count() <= 60);
});

runAll();
