// SPDX-License-Identifier: Apache-2.0
'use strict';
// What the code that runs is inside of: handlers of items, and the scopes of leases. AsyncLocalStorage
// follows the calls and promises of a scope. One that has ended counts no more, also for what it has begun
// and does not wait for.
const {AsyncLocalStorage} = require('node:async_hooks');
const {conflict} = require('./parts');

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

// The units that the leases hold at exactly this path. Two leases may be one request (R3): then the first
// one, which is the newer one, has them.
function unitsAt(held, path) {
    const units = new Map();
    for (const {owner, paths, _parts: parts} of held) {
        const part = parts.find((one) => one.path === path);
        const request = JSON.stringify([owner, ...[...paths].sort()]);
        if (part !== undefined && !units.has(request)) {
            units.set(request, part.units);
        }
    }
    return [...units.values()].reduce((sum, one) => sum + one, 0);
}

// The lease that keeps the parts asked for out for as long as its scope lasts, even when all others have
// ended. One of several holders of a limit need not: another may end. One with a fixed end does not.
function inTheWay(own, asked, blockers) {
    const held = own.filter((lease) => !lease._isFixed);
    const excludes = (part) => asked.some((one) => conflict(part, one)
        || (one.limit !== 0 && one.path === part.path && unitsAt(held, one.path) + one.units > one.limit));
    return held.find(({owner, _parts: parts}) => parts.some((part) => excludes(part)
        && blockers.some((one) => one.owner === owner && one.path === part.path)));
}

module.exports = {handling, isHandling, holding, leases, inTheWay};
