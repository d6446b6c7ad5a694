// SPDX-License-Identifier: Apache-2.0
// The tree of paths, and its rows. Pure: no document, no service, no clock.

import { ownerText } from "./format.mjs";

const NONE = Object.freeze([]); // most nodes are leaves with one request

function newNode(name, path, parent) {
    return {
        name, path, parent, children: null, sorted: NONE, entries: NONE, queue: null,
        isInDoubt: false, held: 0, waiting: 0, oldestWait: Infinity,
    };
}

function nodeAt(root, path) {
    let node = root;
    let end = -1;
    do {
        const begin = end + 1;
        end = path.indexOf("/", begin);
        const segment = end < 0 ? path.slice(begin) : path.slice(begin, end);
        node.children ??= new Map();
        let child = node.children.get(segment);
        if (child === undefined) {
            child = newNode(segment, end < 0 ? path : path.slice(0, end), node);
            node.children.set(segment, child);
        }
        node = child;
    } while (end >= 0);
    return node;
}

function byTicket(a, b) {
    return a.isHeld !== b.isHeld ? (a.isHeld ? -1 : 1) : a.ticket - b.ticket;
}

function byName(a, b) {
    return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

const ORDERS = {
    path: byName,
    wait: (a, b) => a.oldestWait - b.oldestWait || b.waiting - a.waiting || byName(a, b),
    waiters: (a, b) => b.waiting - a.waiting || byName(a, b),
};

// Sorts, and adds up from below.
function settle(node, order) {
    for (const entry of node.entries) {
        if (entry.isHeld) {
            node.held++;
        } else {
            node.waiting++;
            node.oldestWait = Math.min(node.oldestWait, entry.since);
        }
    }
    if (node.entries.length > 1) {
        node.entries.sort(byTicket);
    }
    if (node.children === null) {
        return;
    }
    node.sorted = [...node.children.values()];
    for (const child of node.sorted) {
        settle(child, order);
        node.held += child.held;
        node.waiting += child.waiting;
        node.oldestWait = Math.min(node.oldestWait, child.oldestWait);
    }
    node.sorted.sort(order);
}

const STATES = {
    all: () => true,
    held: (entry) => entry.isHeld,
    waiting: (entry) => !entry.isHeld,
    work: () => false,
    doubt: () => false,
};

/*
 * filter: {words: lower case, all of which must occur; state: a key of STATES; order: of ORDERS}.
 * A queue is shown in "all" and "work", a value in doubt in "all" and "doubt".
 */
export function build(entries, queues, doubts, filter) {
    const root = newNode("", "", null);
    const fits = (text) => filter.words.every((word) => text.toLowerCase().includes(word));
    for (const entry of entries) {
        if (STATES[filter.state](entry) && (filter.words.length === 0
                || fits(`${entry.path} ${ownerText(entry)} ${entry.note}`))) {
            const node = nodeAt(root, entry.path);
            if (node.entries === NONE) {
                node.entries = [entry];
            } else {
                node.entries.push(entry);
            }
        }
    }
    for (const queue of queues) {
        if ((filter.state === "all" || filter.state === "work") && fits(queue.queue)) {
            nodeAt(root, queue.queue).queue = queue;
        }
    }
    for (const path of doubts) {
        if ((filter.state === "all" || filter.state === "doubt") && fits(path)) {
            nodeAt(root, path).isInDoubt = true;
        }
    }
    settle(root, ORDERS[filter.order]);
    return root;
}

function isBare(node) {
    return node.entries.length === 0 && node.queue === null && !node.isInDoubt;
}

function isSame(row, other) {
    return row !== undefined && row.id === other.id;
}

// One object for each row, of one shape: there are many, and each change makes them again.
function newRow(node, label, entry, depth, setSize, position, hasChildren, isFolded) {
    return {
        id: entry === null ? `path ${node.path}` : entry.rowId, node, label, entry, depth, setSize,
        position, hasChildren, isFolded,
    };
}

function addRows(parent, depth, folded, rows) {
    const { sorted } = parent;
    for (let at = 0; at < sorted.length; at++) {
        let node = sorted[at];
        let label = node.name;
        while (isBare(node) && node.sorted.length === 1) {
            [node] = node.sorted;
            label += `/${node.name}`;
        }
        const { entries } = node;
        const isFolded = folded.size > 0 && folded.has(node.path);
        rows.push(newRow(node, label, entries.length > 0 ? entries[0] : null, depth, sorted.length,
            at + 1, node.sorted.length > 0 || entries.length > 1, isFolded));
        if (!isFolded) {
            for (let next = 1; next < entries.length; next++) {
                rows.push(newRow(node, null, entries[next], depth, sorted.length, at + 1, false, false));
            }
            addRows(node, depth + 1, folded, rows);
        }
    }
}

/*
 * The rows: a path shares its row with its first request, the others follow. A path with nothing of
 * its own and a single child stands in one row with the child. `folded`: paths.
 */
export function flatten(root, folded) {
    const rows = [];
    addRows(root, 0, folded, rows);
    return rows;
}

// Where the row is now, or -1. `hint` is where it was.
export function indexOfRow(rows, id, hint) {
    return isSame(rows[hint], { id }) ? hint : rows.findIndex((row) => row.id === id);
}

// R5: equal, or one contains the other by whole segments.
export function isRelated(a, b) {
    return a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
}

export function isBelow(path, prefix) {
    return prefix === "" || path === prefix || path.startsWith(`${prefix}/`);
}
