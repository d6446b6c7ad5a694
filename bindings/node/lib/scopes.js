// SPDX-License-Identifier: Apache-2.0
'use strict';
// What the code that runs is inside of: handlers of items, and the scopes of leases. AsyncLocalStorage
// follows the calls and promises of a scope. One that has ended counts no more, also for what it has begun
// and does not wait for. And what the parts of a lease ask for (R2), and which exclude each other: so is told
// which lease of a scope is in the way.
const {AsyncLocalStorage} = require('node:async_hooks');

// ---- parts that the library has accepted

// The modes, limits and units of texts, with the paths of the answer, which are in the same order.
// Units 0: exclusive. Empty, if there are no such paths: then nothing is known of them.
function partsOf(texts, paths, {shared = false, limit = 0, units = 0}) {
    if (paths === undefined || paths.length !== texts.length) {
        return [];
    }
    return texts.map((text, i) => {
        const words = text.split('?').slice(1).join('&').split('&'); // a path may have '&'
        const said = (name) => Number(words.find((word) => word.startsWith(name))?.slice(name.length) ?? 0);
        const most = said('limit=') || limit;
        const isShared = shared || most !== 0 || words.includes('shared');
        return {path: paths[i], limit: most, units: isShared ? said('units=') || units || 1 : 0};
    });
}

// Two paths are related when they are equal, or one is below the other (R5).
function related(one, other) {
    return one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`);
}

// Whether leases of different owners exclude each other whatever else is held (R6). Limits are not looked at.
function conflict(one, other) {
    return (one.units === 0 || other.units === 0) && related(one.path, other.path);
}

// ---- scopes

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

module.exports = {partsOf, handling, isHandling, holding, leases, inTheWay};
