// SPDX-License-Identifier: Apache-2.0
'use strict';
// usage: node worker.js QUEUE
//
// Works on the items of a queue until SIGINT or SIGTERM, or until nothing is left with LK_DRAIN=1. At
// most four workers of all machines write at once.
const lockkeeper = require('lockkeeper');

async function main() {
    const store = await lockkeeper.open(); // the store that lk uses: $LK_STORE
    const stop = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM']) {
        process.once(signal, () => stop.abort());
    }
    try {
        const options = {signal: stop.signal, drain: process.env.LK_DRAIN === '1', maxAttempts: 5};
        for await (const item of store.work(process.argv[2], options)) {
            await store.with('writers', {limit: 4, signal: stop.signal}, async (permit) => {
                console.log(`${item.id}: ${item.value ?? ''}`, permit.isLost ? '(too late)' : '');
            });
        }
    } catch (error) {
        if (!stop.signal.aborted) {
            throw error;
        }
    } finally {
        await store.close();
    }
}

main();
