// SPDX-License-Identifier: Apache-2.0
'use strict';
// Parts that the library has accepted: what they ask for (R2), and which exclude each other.

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

module.exports = {partsOf, conflict};
