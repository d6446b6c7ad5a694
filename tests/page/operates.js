#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// What a user can do on the page of a service: usage: operates.js LK MODULES.
"use strict";
const { add, assert, awaitRows, awaitText, live, open, row, runAll } = require("./harness");

async function audit(service) {
    const answer = await (await fetch(`${service.http}/v1/audit`)).json();
    return answer.audit.map(({ by, reason, path, owner, state }) =>
        [by, reason, path, owner, state].join("|"));
}

// The element with the focus: its id, or what it says.
async function focused(page) {
    return page.evaluate(() => document.activeElement.id || document.activeElement.textContent);
}

// The path and owner of the row that the keys act on.
async function active(page) {
    return page.evaluate(() => {
        const id = document.querySelector("#grid").getAttribute("aria-activedescendant");
        const one = id && document.getElementById(id);
        return one && one.getAttribute("aria-selected") === "true"
            ? `${one.querySelector(".label").textContent} ${one.querySelector(".owner").textContent}` : null;
    });
}

add("a break asks for a reason, and shows what was broken", [], async (service) => {
    service.lk("acquire", "db/t1", "--owner", "dead", "--note", "make test");
    service.lkCode(75, "acquire", "db/t1", "--owner", "next", "--queue");
    service.lkCode(75, "acquire", "db/t1", "--owner", "third", "--queue");
    const page = await open(service);
    await row(page, "dead").click();
    await page.click("#details-break");
    await awaitText(page, "#break-what", /^dead holds db\/t1 \(make test\)$/);
    await awaitText(page, "#break-effect", /^The lease can no longer be renewed\. It ends when it is released, or in \S+,/);
    await page.click("#break-submit");
    await awaitText(page, "#break-error", /^A reason is needed/);
    assert.deepStrictEqual(await audit(service), []);

    await page.fill("#break-reason", "its <b>machine</b> is gone");
    await page.fill("#break-by", "ana");
    await page.click("#break-submit");
    await awaitText(page, "#break-result-body",
        /^1 request was broken\.\d\d:\d\d:\d\d db\/t1 held by deadbroken by ana: its <b>machine<\/b> is gone$/);
    await awaitText(page, "#announcer", /^1 request was broken/);
    assert.deepStrictEqual(await audit(service), ["ana|its <b>machine</b> is gone|db/t1|dead|held"]);
    await page.click("#break-close");
    await awaitRows(page, ["db/t1|broken exclusive|dead|make test", "db/t1|waiting exclusive|next|",
        "db/t1|waiting exclusive|third|"]);
    await awaitText(page, "#details-events", /broken, of dead by ana: its <b>machine<\/b> is gone/);

    // A waiting request; the name is still known.
    await row(page, "third").click();
    await page.click("#details-break");
    await awaitText(page, "#break-effect", /^The request leaves the queue\.$/);
    assert.ok(await page.isHidden("#break-now-choice"));
    assert.strictEqual(await page.inputValue("#break-by"), "ana");
    await page.fill("#break-reason", "not needed");
    await page.keyboard.press("Enter");
    await awaitText(page, "#break-result-body", /^1 request was broken/);
    await page.click("#break-close");
    await awaitText(page, "#details-facts", /^Endedbroken at/);

    // At once: the next one holds it.
    await row(page, "dead").click();
    await page.click("#details-break");
    await page.fill("#break-reason", "dead");
    await page.check("#break-now");
    await page.click("#break-submit");
    await awaitText(page, "#break-result-body", /^1 request was broken/);
    await page.click("#break-close");
    await awaitRows(page, ["db/t1|held exclusive|next|"]);
    await page.click("#details-breaks summary");
    await awaitText(page, "#details-breaks", /held by deadbroken by ana: dead.*waiting by third.*machine/);
});

add("all requests at a path are broken together, when that is chosen", [], async (service) => {
    service.lk("acquire", "r?shared", "--owner", "a");
    service.lk("acquire", "r?shared", "--owner", "b");
    const page = await open(service);
    await row(page, "shared").first().click();
    await page.click("#details-break");
    await page.fill("#break-reason", "end of the day");
    await page.check("#break-scope-all");
    await page.check("#break-now");
    await page.click("#break-submit");
    await awaitText(page, "#break-result-body", /^2 requests were broken/);
    assert.strictEqual((await audit(service)).length, 2);
});

add("everything is done by keys", [], async (service) => {
    service.lk("acquire", "a/one", "--owner", "anna");
    service.lk("acquire", "a/two", "--owner", "bert");
    service.lkCode(75, "acquire", "a/two", "--owner", "carl", "--queue");
    service.lk("acquire", "b", "--owner", "dora");
    const page = await open(service);
    await live(page);
    await row(page, "dora").waitFor();
    const press = (...keys) => keys.reduce((done, key) =>
        done.then(() => page.keyboard.press(key)), Promise.resolve());

    // The tools, and then the tree, in the order of the page.
    await press("Tab");
    assert.strictEqual(await focused(page), "filter");
    await page.keyboard.type("a/t");
    await awaitRows(page, ["a/two|held exclusive|bert|", "a/two|waiting exclusive|carl|"]);
    await press("Escape");
    await row(page, "dora").waitFor();
    assert.strictEqual(await focused(page), "grid");

    await press("ArrowDown");
    assert.strictEqual(await active(page), "a ");
    await press("ArrowDown", "ArrowDown", "ArrowDown");
    assert.strictEqual(await active(page), " carl");
    await press("ArrowLeft");
    assert.strictEqual(await active(page), "two bert");
    await press("ArrowLeft");
    await awaitRows(page, ["a|2 held, 1 waiting||", "one|held exclusive|anna|",
        "two|held exclusive (1 held, 1 waiting)|bert|", "b|held exclusive|dora|"]);
    await press("ArrowLeft", "ArrowLeft");
    await awaitRows(page, ["a|2 held, 1 waiting||", "b|held exclusive|dora|"]);
    assert.strictEqual(await page.locator("[aria-selected=true]").getAttribute("aria-expanded"), "false");
    await press("ArrowRight", "ArrowRight", "ArrowDown", "ArrowRight", "ArrowRight");
    assert.strictEqual(await active(page), " carl");
    await press("End");
    assert.strictEqual(await active(page), "b dora");
    await press("Home", "PageDown");
    assert.strictEqual(await active(page), "b dora");

    // Into the details, and back.
    await press("ArrowUp", "Enter");
    assert.strictEqual(await focused(page), "details-title");
    await awaitText(page, "#details-chain", /bert holds a\/two/);
    await press("Tab", "Tab");
    assert.strictEqual(await focused(page), "details-break");
    await press("Escape");
    assert.strictEqual(await focused(page), "grid");
    assert.strictEqual(await active(page), " carl");

    // The row sticks to its request while others come and go above it.
    service.lk("acquire", "a/a", "--owner", "zero");
    await row(page, "zero").waitFor();
    assert.strictEqual(await active(page), " carl");

    await press("b");
    assert.strictEqual(await focused(page), "break-reason");
    await page.keyboard.type("by keys alone");
    await press("Enter");
    await awaitText(page, "#break-result-body", /^1 request was broken/);
    assert.strictEqual(await focused(page), "break-close");
    await press("Enter");
    await row(page, "carl").waitFor({ state: "detached" });
    assert.strictEqual(await focused(page), "grid");
    assert.strictEqual(await active(page), "b dora");
    await press("/");
    assert.strictEqual(await focused(page), "filter");
});

add("screen readers are told of a tree in a table", [], async (service) => {
    service.lk("acquire", "a/one", "--owner", "anna", "--note", "n");
    service.lk("acquire", "a/one?shared", "--owner", "anna");
    service.lk("acquire", "a/two?shared", "--owner", "bert");
    service.lk("acquire", "a/two?shared", "--owner", "carl");
    const page = await open(service);
    await row(page, "carl").waitFor();
    const said = (await page.locator("#grid").ariaSnapshot()).replace(/\d+m?\d*s/g, "T");
    for (const line of ["- treegrid \"Paths and requests\":", "- columnheader \"Owner\"",
        "- row \"a 3 held\" [expanded] [level=1]:", "- gridcell \"a/two\"",
        "- row \"a/two held shared carl T T\" [level=2]:"]) {
        assert.ok(said.includes(line), `${line} is not in\n${said}`);
    }
    assert.strictEqual(await page.getAttribute("#grid", "aria-rowcount"), "5");
    // Whatever can be operated has a name.
    const nameless = await page.evaluate(() => [...document.querySelectorAll("button, input, select")]
        .filter((one) => !(one.ariaLabel || one.textContent.trim() || one.labels?.length))
        .map((one) => one.outerHTML));
    assert.deepStrictEqual(nameless, []);
});

add("a part of the tree can be shown alone, and has an address", [], async (service) => {
    service.lk("acquire", "a/x/one", "--owner", "a1");
    service.lk("acquire", "b", "--owner", "b1");
    const page = await open(service);
    await row(page, "a1").click();
    await page.click("#details-below");
    await awaitText(page, "#below", /^Only a\/x\/one and what is below it/);
    await awaitRows(page, ["a/x/one|held exclusive|a1|"]);
    assert.strictEqual(await page.evaluate(() => window.location.hash), "#/a/x/one");
    service.lk("acquire", "c", "--owner", "c1");
    service.lk("acquire", "a/x/one/deep", "--owner", "a1");
    await awaitRows(page, ["a/x/one|held exclusive|a1|", "deep|held exclusive|a1|"]);
    await page.click("#below-all");
    await row(page, "c1").waitFor();

    const other = await open(service, { hash: "#/no/such%20place", mayFail: true });
    await awaitText(other, "#banner-text", /^This cannot be shown: R1/);
    const third = await open(service, { hash: "#/nothing" });
    await awaitText(third, "#no-match-text", /^Nothing is at or below nothing\.$/);
});

add("the order is chosen", [], async (service) => {
    service.lk("acquire", "a", "--owner", "h");
    service.lk("acquire", "b", "--owner", "h");
    service.lk("acquire", "c", "--owner", "h");
    service.lkCode(75, "acquire", "c", "--owner", "c1", "--queue");
    service.lkCode(75, "acquire", "b", "--owner", "b1", "--queue");
    service.lkCode(75, "acquire", "b", "--owner", "b2", "--queue");
    const page = await open(service);
    const waiting = ["b|waiting exclusive|b1|", "b|waiting exclusive|b2|", "c|waiting exclusive|c1|"];
    await page.check("input[value=waiting]", { force: true });
    await awaitRows(page, waiting);
    await page.selectOption("#order", "wait");
    await awaitRows(page, [waiting[2], waiting[0], waiting[1]]);
    await page.selectOption("#order", "waiters");
    await awaitRows(page, waiting);
});

runAll();
