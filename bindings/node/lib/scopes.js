// SPDX-License-Identifier: Apache-2.0
'use strict';
// What the code that runs is inside of: handlers of items, and the scopes of leases. AsyncLocalStorage
// follows the calls and promises of a scope. One that has ended counts no more, also for what it has begun
// and does not wait for.
const {AsyncLocalStorage} = require('node:async_hooks');

const current = new AsyncLocalStorage();

async function run(scope, call) {
    scope.outer = current.getStore();
    try {
        return await current.run(scope, call);
    } finally {
        scope.isOver = true;
    }
}

function* around() {
    for (let scope = current.getStore(); scope !== undefined; scope = scope.outer) {
        if (!scope.isOver) {
            yield scope;
        }
    }
}

// Calls the handler of an item.
function handling(store, call) {
    return run({handles: store}, call);
}

function isHandling(store) {
    return [...around()].some(({handles}) => handles === store);
}

// Calls the function that a lease is held for.
function holding(lease, call) {
    return run({lease}, call);
}

// The leases of the scopes around, the inner ones first.
function leases() {
    return [...around()].map(({lease}) => lease).filter((lease) => lease !== undefined);
}

module.exports = {handling, isHandling, holding, leases};
