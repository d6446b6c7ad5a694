// SPDX-License-Identifier: Apache-2.0
/*
 * The rows of the tree as a treegrid. Only rows that can be seen are in the document, and of these
 * only what has changed is written. The focus stays on the grid: aria-activedescendant names the
 * row that the keys act on, which sticks to its request or path wherever that moves.
 */

import { element, name, setAttribute, setNote, setText } from "./dom.mjs";
import { count, counted, duration, moment, ownerText, shortOwnerText, visible } from "./format.mjs";
import { indexOfRow } from "./tree.mjs";

const OVERSCAN = 6;
const DEPTH_MAX = 12; // deeper rows are not indented further

function stateText(entry) {
    return entry.isHeld ? (entry.isRevoked ? "broken" : "held") : "waiting";
}

export function modeText(entry) {
    if (entry.limit !== null) {
        return `${entry.units} of ${count(entry.limit)}`;
    }
    return entry.isShared ? "shared" : "exclusive";
}

function summary(node) {
    const parts = [];
    if (node.held > 0) {
        parts.push(`${count(node.held)} held`);
    }
    if (node.waiting > 0) {
        parts.push(`${count(node.waiting)} waiting`);
    }
    return parts.join(", ");
}

const QUEUE_COUNTS = [["ready_now", "ready"], ["delayed_now", "delayed"], ["claimed_now", "claimed"],
    ["parked_now", "parked"]];

export function queueText(queue) {
    const parts = QUEUE_COUNTS.filter(([field]) => queue[field] > 0)
        .map(([field, word]) => `${count(queue[field])} ${word}`);
    return parts.length > 0 ? parts.join(", ") : "no items";
}

function newRow(number) {
    const cell = (column, ...children) =>
        element("div", { role: "gridcell", class: `cell ${column}` }, ...children);
    const parts = {
        twist: element("span", { class: "twist", "aria-hidden": "true" }),
        label: name("", { class: "label" }),
        again: name("", { class: "again" }),
        badges: element("span", { class: "badges" }),
        marks: element("span", { class: "badges" }),
        state: element("span", { class: "state" }),
        mode: element("span", { class: "mode" }),
        owner: name("", { class: "text" }),
        age: element("time", {}),
        left: element("time", {}),
        note: name("", { class: "text" }),
    };
    const row = element("div", { role: "row", class: "row", id: `row-${number}` },
        cell("path", parts.twist, parts.label, parts.again, parts.badges),
        cell("what", parts.state, parts.mode, parts.marks),
        cell("owner", parts.owner),
        cell("age", parts.age),
        cell("left", parts.left),
        cell("note", parts.note));
    return { row, parts, shown: null, badges: "", oldest: null };
}

// They stand behind the path; where no request shares its row, there is more room behind it.
function drawBadges(made, { node, entry, label }) {
    const isLabel = label !== null;
    const texts = [];
    if (isLabel && node.queue !== null) {
        texts.push(["queue", `queue: ${queueText(node.queue)}`]);
        if (node.queue.parked_now > 0) {
            texts[0][0] = "queue parked";
        }
        if (node.queue.readySince !== null) {
            texts.push(["oldest", ""]); // tick() says for how long
        }
    }
    if (isLabel && node.isInDoubt) {
        texts.push(["doubt", "value in doubt"]);
    }
    const wanted = JSON.stringify([texts, entry === null]);
    if (made.badges !== wanted) {
        const badges = texts.map(([kind, text]) =>
            element("span", { class: `badge ${kind}` }, text));
        made.badges = wanted;
        made.oldest = badges.find((badge) => badge.classList.contains("oldest")) ?? null;
        made.parts.badges.replaceChildren(...(entry !== null ? badges : []));
        made.parts.marks.replaceChildren(...(entry === null ? badges : []));
    }
}

// Of a path without a request: how many are below it. Of a folded one as well.
function drawSummary(made, row) {
    const { parts } = made;
    setText(parts.state, "");
    setText(parts.mode, summary(row.node));
    setText(parts.owner, "");
    setNote(parts.note, "");
    for (const part of [parts.age, parts.left]) {
        setText(part, "");
        setAttribute(part, "title", null);
    }
}

function drawEntry(made, row) {
    const { parts } = made;
    const { entry } = row;
    const more = row.isFolded && row.node.held + row.node.waiting > 1
        ? `${modeText(entry)} (${summary(row.node)})` : modeText(entry);
    setText(parts.state, stateText(entry));
    setText(parts.mode, more);
    setText(parts.owner, visible(shortOwnerText(entry)));
    setAttribute(parts.owner, "title", visible(ownerText(entry)));
    setNote(parts.note, entry.note);
    setAttribute(parts.note, "title", entry.note !== "" ? visible(entry.note) : null);
}

export class Rows {
    rows = [];
    #grid;
    #canvas;
    #made = new Map(); // by the id of the row
    #free = [];
    #number = 0;
    #height = 28; // of a row
    #headHeight = 0; // of the titles; measured once, as asking makes the browser lay out the page
    #seenHeight = 0;
    #marked = new Set(); // keys of the requests that the chosen one waits for
    #activeId = null;
    #activeAt = -1;
    #hasFrame = false;
    #on;

    // on.select(row), on.open(row), on.fold(path, isFolded), on.key(key, row).
    constructor(grid, canvas, on) {
        this.#grid = grid;
        this.#canvas = canvas;
        this.#on = on;
        grid.addEventListener("scroll", () => this.#askForFrame(), { passive: true });
        grid.addEventListener("keydown", (event) => this.#onKey(event));
        canvas.addEventListener("click", (event) => this.#onClick(event));
        new ResizeObserver(() => this.#measure()).observe(grid);
        this.#measure();
    }

    get active() {
        return this.rows[this.#activeAt] ?? null;
    }

    // Other rows; the active one stays where it was when what it stuck to is gone.
    set(rows) {
        this.rows = rows;
        if (this.#activeId !== null) {
            const at = indexOfRow(rows, this.#activeId, this.#activeAt);
            this.#activeAt = at >= 0 ? at : Math.min(this.#activeAt, rows.length - 1);
            this.#activeId = this.active?.id ?? null;
        }
        setAttribute(this.#grid, "aria-rowcount", rows.length + 1);
        this.#setHeight();
        this.draw();
    }

    // Shows that the chosen request waits for these.
    mark(keys) {
        if (keys.size > 0 || this.#marked.size > 0) {
            this.#marked = keys;
            this.draw();
        }
    }

    // Makes the row of this id the active one; false: there is none.
    activate(id, isToBeShown = true) {
        const at = indexOfRow(this.rows, id, -1);
        if (at < 0) {
            return false;
        }
        this.#activate(at, isToBeShown);
        return true;
    }

    focus() {
        this.#grid.focus({ preventScroll: true });
    }

    // ---- drawing ---------------------------------------------------------------------------

    #measure() {
        const height = parseFloat(getComputedStyle(this.#grid).getPropertyValue("--row-height"));
        this.#height = height || 28;
        this.#seenHeight = this.#grid.clientHeight;
        this.#headHeight = this.#canvas.offsetTop;
        this.#setHeight();
        this.draw();
    }

    #setHeight() {
        const height = `${this.rows.length * this.#height}px`;
        if (this.#canvas.style.height !== height) {
            this.#canvas.style.height = height;
        }
    }

    #askForFrame() {
        if (!this.#hasFrame) {
            this.#hasFrame = true;
            requestAnimationFrame(() => {
                this.#hasFrame = false;
                this.draw();
            });
        }
    }

    draw() {
        const top = Math.max(0, this.#grid.scrollTop - this.#headHeight);
        const first = Math.max(0, Math.floor(top / this.#height) - OVERSCAN);
        const last = Math.min(this.rows.length,
            Math.ceil((top + this.#seenHeight) / this.#height) + OVERSCAN);
        const wanted = new Set();
        for (let at = first; at < last; at++) {
            wanted.add(this.rows[at].id);
        }
        for (const [id, made] of this.#made) {
            if (!wanted.has(id)) {
                this.#made.delete(id);
                this.#free.push(made);
            }
        }
        for (let at = first; at < last; at++) {
            this.#drawRow(this.rows[at], at);
        }
        for (const made of this.#free.splice(0)) {
            made.row.remove();
        }
        this.#markActive();
        this.tick(Date.now());
    }

    #drawRow(row, at) {
        let made = this.#made.get(row.id);
        if (made === undefined) {
            made = this.#free.pop() ?? newRow(this.#number++);
            this.#made.set(row.id, made);
            made.row.dataset.id = row.id;
        }
        const { parts } = made;
        const isLabel = row.label !== null;
        made.shown = row;
        made.at = at;
        made.row.style.transform = `translateY(${at * this.#height}px)`;
        made.row.style.setProperty("--depth", Math.min(row.depth, DEPTH_MAX));
        setAttribute(made.row, "aria-rowindex", at + 2);
        setAttribute(made.row, "aria-level", row.depth + 1);
        setAttribute(made.row, "aria-setsize", row.setSize);
        setAttribute(made.row, "aria-posinset", row.position);
        setAttribute(made.row, "aria-expanded", row.hasChildren ? String(!row.isFolded) : null);
        setAttribute(made.row, "data-again", isLabel ? null : "");
        setText(parts.twist, row.hasChildren ? (row.isFolded ? "\u25b8" : "\u25be") : "");
        setText(parts.label, isLabel ? visible(row.label) : "");
        setAttribute(parts.label, "title", isLabel ? visible(row.node.path) : null);
        setText(parts.again, isLabel ? "" : visible(row.node.path)); // for screen readers
        drawBadges(made, row);
        if (row.entry === null) {
            drawSummary(made, row);
            setAttribute(made.row, "data-state", "none");
        } else {
            drawEntry(made, row);
            setAttribute(made.row, "data-state", stateText(row.entry));
        }
        setAttribute(made.row, "data-chain", row.entry !== null && this.#marked.has(row.entry.key) ? "" : null);
        if (made.row.parentNode === null) {
            this.#canvas.append(made.row);
        }
    }

    // Ages and ends go on by themselves.
    tick(now) {
        for (const { shown, parts, oldest } of this.#made.values()) {
            if (oldest !== null) {
                const since = shown.node.queue.readySince;
                setText(oldest, `oldest ${duration(now - since)}`);
                setAttribute(oldest, "title", `the oldest item is ready since ${moment(since)}`);
            }
            if (shown?.entry) {
                setText(parts.age, duration(now - shown.entry.since));
                setAttribute(parts.age, "title", `since ${moment(shown.entry.since)}`);
                setText(parts.left, duration(shown.entry.endsAt - now));
                setAttribute(parts.left, "title",
                    `ends ${moment(shown.entry.endsAt)}, unless it is renewed`);
            }
        }
    }

    #markActive() {
        let activeRow = null;
        for (const [id, made] of this.#made) {
            const isActive = id === this.#activeId;
            setAttribute(made.row, "aria-selected", String(isActive));
            activeRow = isActive ? made.row : activeRow;
        }
        setAttribute(this.#grid, "aria-activedescendant", activeRow?.id);
    }

    // ---- keys and clicks -------------------------------------------------------------------

    #activate(at, isToBeShown) {
        const bounded = Math.max(0, Math.min(at, this.rows.length - 1));
        if (this.rows.length === 0) {
            return;
        }
        this.#activeAt = bounded;
        this.#activeId = this.rows[bounded].id;
        if (isToBeShown) {
            const head = this.#canvas.offsetTop;
            const top = bounded * this.#height;
            if (top < this.#grid.scrollTop) {
                this.#grid.scrollTop = top;
            } else if (top + this.#height + head > this.#grid.scrollTop + this.#grid.clientHeight) {
                this.#grid.scrollTop = top + this.#height + head - this.#grid.clientHeight;
            }
        }
        this.draw();
        this.#on.select(this.active);
    }

    #fold(row, isFolded) {
        if (row.hasChildren && row.isFolded !== isFolded) {
            this.#on.fold(row.node.path, isFolded);
            return true;
        }
        return false;
    }

    #left(row) {
        if (row.label !== null && this.#fold(row, true)) {
            return;
        }
        for (let at = this.#activeAt - 1; at >= 0; at--) {
            if (this.rows[at].depth < row.depth || this.rows[at].node === row.node) {
                this.#activate(at, true);
                return;
            }
        }
    }

    #move(key) {
        const page = Math.max(1, Math.floor(this.#grid.clientHeight / this.#height) - 2);
        const moves = {
            ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page,
            Home: -Infinity, End: Infinity,
        };
        if (!(key in moves)) {
            return false;
        }
        this.#activate(this.#activeAt < 0 && key !== "End" ? 0 : this.#activeAt + moves[key], true);
        return true;
    }

    #onKey(event) {
        const row = this.active;
        let isDone = true;
        if (event.ctrlKey || event.altKey || event.metaKey) {
            return;
        }
        if (this.#move(event.key)) {
            // Moved.
        } else if (row !== null && event.key === "ArrowRight") {
            if (!this.#fold(row, false) && row.hasChildren) {
                this.#activate(this.#activeAt + 1, true);
            }
        } else if (row !== null && event.key === "ArrowLeft") {
            this.#left(row);
        } else if (row !== null && (event.key === "Enter" || event.key === " ")) {
            this.#on.open(row);
        } else {
            isDone = this.#on.key(event.key, row);
        }
        if (isDone) {
            event.preventDefault();
        }
    }

    #onClick(event) {
        const target = event.target.closest(".row");
        const made = target && this.#made.get(target.dataset.id);
        if (!made) {
            return;
        }
        if (event.target.closest(".twist") && this.#fold(made.shown, !made.shown.isFolded)) {
            return;
        }
        this.#activate(made.at, false);
        this.focus();
        this.#on.open(made.shown, true);
    }
}

export function totals(entries, queues, doubts) {
    const held = entries.filter((entry) => entry.isHeld).length;
    const parts = [counted(held, "held", "held"), `${count(entries.length - held)} waiting`];
    const ready = queues.reduce((sum, queue) => sum + queue.ready_now, 0);
    const parked = queues.reduce((sum, queue) => sum + queue.parked_now, 0);
    if (ready > 0) {
        parts.push(`${count(ready)} ready`);
    }
    if (parked > 0) {
        parts.push(`${count(parked)} parked`);
    }
    if (doubts.size > 0) {
        parts.push(counted(doubts.size, "value in doubt", "values in doubt"));
    }
    return parts;
}
