// SPDX-License-Identifier: Apache-2.0
// The service through node-redis: asks, a wait that a release ends, work, errors by their words.
"use strict";
const assert = require("assert");
const redis = require("redis");

async function connect(port) {
    const client = redis.createClient({ socket: { host: "127.0.0.1", port } });
    await client.connect();
    return client;
}

function fields(flat) {
    const record = {};
    for (let i = 0; i < flat.length; i += 2) {
        record[flat[i]] = flat[i + 1];
    }
    return record;
}

async function main(port) {
    const ana = await connect(port);
    const ben = await connect(port);
    const call = async (client, ...words) => client.sendCommand(words);

    const granted = fields(await call(ana, "ACQUIRE", "db/t1", "OWNER", "ana", "TTL", "60000"));
    assert.strictEqual(granted.status, "granted");
    assert.ok(granted.token > 0);
    assert.strictEqual(fields(await call(ben, "ACQUIRE", "db", "OWNER", "ben")).status, "busy");

    const waiting = call(ben, "ACQUIRE", "db", "OWNER", "ben", "WAIT", "20000");
    while (!(await call(ana, "LIST", "db"))[1].some((part) => part.includes("waiting"))) {
        // Asked again until it stands in line.
    }
    assert.strictEqual(await call(ana, "RELEASE", "db/t1", "OWNER", "ana"), "OK");
    assert.strictEqual(fields(await waiting).status, "granted");

    await assert.rejects(call(ana, "RELEASE", "db/t1", "OWNER", "ana"), /^Error: LOST|^LOST/);
    await assert.rejects(call(ana, "ACQUIRE", "a//b", "OWNER", "ana"), /INVALID/);

    assert.strictEqual(await call(ana, "PUSH", "mails", "1", "VALUE", "to: ben"), 1);
    const claim = fields(await call(ben, "CLAIM", "mails", "OWNER", "ben"));
    assert.strictEqual(claim.id, "1");
    assert.strictEqual(claim.value, "to: ben");
    assert.strictEqual(
        await call(ben, "DONE", "mails", "1", "OWNER", "ben", "TOKEN", String(claim.token)), "OK");

    // Pipelined: said in one go, answered in order.
    const names = [...Array(100).keys()].map(String);
    const all = await Promise.all(names.map((name) => call(ana, "ECHO", name)));
    assert.deepStrictEqual(all, names);

    // Its own objects for what is published: by channel, by pattern, until it has enough.
    const follower = await connect(port);
    const heard = [];
    const all_heard = new Promise((resolve) => {
        const hear = (message, channel) => {
            heard.push([channel, JSON.parse(message).event]);
            if (heard.length === 3) {
                resolve();
            }
        };
        follower.subscribe("ev/1", hear).then(() => follower.pSubscribe("ev/*", hear)).then(() =>
            call(ana, "ACQUIRE", "ev/1", "OWNER", "ana").then(() =>
                call(ana, "ACQUIRE", "ev/2", "OWNER", "ana")));
    });
    await all_heard;
    assert.deepStrictEqual(heard.sort(),
        [["ev/1", "granted"], ["ev/1", "granted"], ["ev/2", "granted"]]);
    await follower.unsubscribe("ev/1");
    await follower.pUnsubscribe("ev/*");
    assert.strictEqual(await call(follower, "ECHO", "free"), "free");
    await follower.quit();
    await ana.quit();
    await ben.quit();
}

main(Number(process.argv[2])).catch((error) => {
    console.error(error);
    process.exit(1);
});
