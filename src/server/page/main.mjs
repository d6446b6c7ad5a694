// SPDX-License-Identifier: Apache-2.0
// The page of `lk serve`: ties the feed, the tree, the details and the dialogs together.

import { forgetCredentials, userName } from "./api.mjs";
import { openBreak, prepareBreak } from "./break.mjs";
import { Details } from "./details.mjs";
import { announce, byId, drawRunning, setText } from "./dom.mjs";
import { Feed, REQUESTS_MAX } from "./feed.mjs";
import { clock, count, counted, duration, visible } from "./format.mjs";
import { accepted, askForPassword, prepareLogin } from "./login.mjs";
import { Rows, totals } from "./rows.mjs";
import { build, flatten } from "./tree.mjs";

const DRAWING_DUTY = 9;
const folded = new Set();
const filter = { words: [], state: "all", order: "path" };
let hasFrame = false;
let drawnAt = 0; // of the last drawing of data: when it ended, and how long it took
let drawingMs = 0;

// ---- the part of the tree that is shown: #/a/path ----------------------------------------------

function prefixOfLocation() {
    const hash = location.hash.startsWith("#/") ? location.hash.slice(2) : "";
    try {
        return decodeURIComponent(hash).replace(/^\/+|\/+$/g, "");
    } catch {
        return "";
    }
}

function goBelow(path) {
    location.hash = path === "" ? "" : `#/${path.split("/").map(encodeURIComponent).join("/")}`;
}

// ---- drawing -----------------------------------------------------------------------------------

const feed = new Feed(prefixOfLocation(), {
    change: () => askForFrame(),
    status: () => drawStatus(),
    event: (event) => {
        if (event.event === "gap") {
            announce("Events were missed. Everything is listed again.");
        }
        askForFrame();
    },
});

const details = new Details(feed, {
    choose: (path, key) => choose(path, key, true),
    chain: (keys) => rows.mark(keys),
    failed: (error) => {
        if (error.status === 401 || error.status === 0) {
            feed.retry();
        } else {
            announce(error.message);
        }
    },
});

const rows = new Rows(byId("grid"), byId("canvas"), {
    select: (row) => {
        if (document.body.dataset.panel === "details") {
            details.show(choiceOf(row));
        }
    },
    open: (row, isByPointer) => {
        details.show(choiceOf(row));
        openPanel("details", !isByPointer);
    },
    fold: (path, isFolded) => {
        folded[isFolded ? "add" : "delete"](path);
        drawTree();
    },
    key: (key, row) => {
        if (key === "/") {
            byId("filter").focus();
        } else if (key === "b" && row?.entry) {
            openBreak(row.entry);
        } else if (key === "Escape") {
            closePanel();
        } else {
            return false;
        }
        return true;
    },
});

function choiceOf(row) {
    return { path: row.node.path, key: row.entry?.key ?? null };
}

// A path is shown in the tree, if it is there, and beside it.
function choose(path, key, isFocused) {
    for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
        folded.delete(path.slice(0, at));
    }
    folded.delete(path);
    drawTree();
    const isThere = key !== null ? rows.activate(`request ${key}`) : rows.activate(`path ${path}`);
    const row = isThere ? null : rows.rows.find((one) => one.node.path === path);
    if (row) {
        rows.activate(row.id);
    }
    details.show({ path, key: key ?? row?.entry?.key ?? null });
    openPanel("details", isFocused);
}

function drawTree() {
    const root = build(feed.entries.values(), feed.queues.values(), feed.doubts, filter);
    rows.set(flatten(root, folded));
    drawEmpty();
}

function drawEmpty() {
    const hasRows = rows.rows.length > 0;
    const isFiltered = filter.words.length > 0 || filter.state !== "all";
    const isKnown = feed.isLoaded;
    byId("grid").hidden = !hasRows;
    byId("empty").hidden = hasRows || !isKnown || isFiltered || feed.prefix !== "";
    byId("no-match").hidden = hasRows || !isKnown || !(isFiltered || feed.prefix !== "");
    byId("loading").hidden = hasRows || isKnown || feed.status.kind !== "connecting";
    setText(byId("no-match-text"), isFiltered ? "Nothing matches the filter."
        : `Nothing is at or below ${visible(feed.prefix)}.`);
}

function drawTotals() {
    const entries = [...feed.entries.values()];
    const queues = [...feed.queues.values()];
    const parts = feed.isLoaded ? totals(entries, queues, feed.doubts) : [];
    const oldest = entries.reduce((since, entry) =>
        (entry.isHeld ? since : Math.min(since, entry.since)), Infinity);
    if (oldest !== Infinity) {
        parts.push(`longest wait ${duration(Date.now() - oldest)}`);
    }
    const oldestItem = queues.reduce((since, queue) =>
        Math.min(since, queue.readySince ?? Infinity), Infinity);
    if (oldestItem !== Infinity) {
        parts.push(`oldest ready item ${duration(Date.now() - oldestItem)}`);
    }
    setText(byId("totals"), parts.join(" · "));
    document.title = feed.isLoaded ? `${parts.slice(0, 2).join(", ")} – Lockkeeper` : "Lockkeeper";
    byId("cut").hidden = !feed.isCut;
    setText(byId("cut"), `Only the first ${count(REQUESTS_MAX)} requests are shown. `
        + "Choose a path, and then “Only this path”, to see all of it.");
}

function draw() {
    const began = performance.now();
    hasFrame = false;
    drawTree();
    drawTotals();
    details.update();
    drawnAt = performance.now();
    drawingMs = drawnAt - began;
}

// Drawing takes a tenth of the time at most, so that scrolling goes on between two of a burst.
function askForFrame() {
    if (!hasFrame) {
        const pause = drawnAt + DRAWING_DUTY * drawingMs - performance.now();
        hasFrame = true;
        setTimeout(() => requestAnimationFrame(draw), Math.max(0, pause));
    }
}

// ---- the connection ----------------------------------------------------------------------------

const STATUS_WORDS = {
    connecting: "connecting…", live: "live", polling: "read every 5 s", lost: "not connected",
    login: "not logged in", denied: "denied", paused: "paused",
};
let announced = null;

function bannerText({ kind, since, error, retryAt }) {
    switch (kind) {
    case "lost": {
        const seconds = Math.max(0, Math.ceil((retryAt - Date.now()) / 1000));
        const again = seconds > 0 ? `trying again in ${seconds} s` : "trying again now";
        const shown = feed.isLoaded ? ` What is shown is as it was then, ${duration(Date.now() - since)} ago.` : "";
        return `Connection lost at ${clock(since)}: ${error.message}; ${again}.${shown}`;
    }
    case "denied":
        return `${error.status === 403 ? "You may not see this" : "This cannot be shown"}: ${error.message}.`;
    case "login":
        return "This service asks for a password.";
    default:
        return "";
    }
}

function drawBanner() {
    const { status } = feed;
    const text = bannerText(status);
    byId("banner").hidden = text === "";
    setText(byId("banner-text"), text);
    setText(byId("banner-action"), status.kind === "login" ? "Log in" : "Try now");
}

function drawStatus() {
    const { kind } = feed.status;
    document.body.dataset.status = kind;
    setText(byId("connection-text"), STATUS_WORDS[kind]);
    byId("log-out").hidden = userName() === "" || kind === "login";
    drawBanner();
    drawEmpty();
    if (kind === "login") {
        askForPassword();
    } else if (kind === "live" || kind === "polling" || kind === "denied") {
        accepted();
    }
    if (kind !== announced && kind !== "connecting") {
        if (kind === "lost") {
            announce("Connection lost. What is shown is out of date.");
        } else if (kind === "live" && announced === "lost") {
            announce("Connected again.");
        }
        announced = kind;
    }
}

// ---- the panel ---------------------------------------------------------------------------------

function openPanel(kind, isFocused) {
    document.body.dataset.panel = kind;
    byId("events").setAttribute("aria-pressed", String(kind === "events"));
    if (isFocused) {
        byId("details-title").focus({ preventScroll: true });
    }
}

function closePanel() {
    const isInside = byId("details").contains(document.activeElement);
    delete document.body.dataset.panel;
    byId("events").setAttribute("aria-pressed", "false");
    if (isInside) {
        rows.focus();
    }
}

function toggleEvents() {
    if (document.body.dataset.panel === "events") {
        closePanel();
    } else {
        details.show(null);
        openPanel("events", false);
    }
}

// ---- wiring ------------------------------------------------------------------------------------

function readFilter() {
    filter.words = byId("filter").value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    filter.state = document.querySelector("input[name=state]:checked").value;
    filter.order = byId("order").value;
    drawTree();
    if (filter.words.length > 0) {
        announce(counted(rows.rows.length, "row", "rows"));
    }
}

function showPrefix() {
    feed.setPrefix(prefixOfLocation());
    byId("below").hidden = feed.prefix === "";
    setText(byId("below-path"), visible(feed.prefix));
    askForFrame();
}

function tick() {
    const now = Date.now();
    rows.tick(now);
    for (const time of document.querySelectorAll("time.running")) {
        drawRunning(time, now);
    }
    drawTotals();
    drawBanner();
}

function start() {
    setText(byId("host"), location.host);
    setText(byId("example"), `curl ${location.origin}/v1/acquire -H 'Content-Type: application/json' \\\n`
        + "  -d '{\"parts\":[\"mydatabase/mytest\"],\"owner\":\"me\",\"note\":\"a first lock\"}'");
    prepareLogin({ ready: () => feed.retry() });
    prepareBreak({
        broken: (path) => feed.markPath(path),
        failed: () => feed.retry(),
        closed: () => rows.focus(),
    });
    byId("tools").addEventListener("input", readFilter);
    byId("filter").addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === "ArrowDown") {
            event.preventDefault();
            rows.focus();
        } else if (event.key === "Escape") {
            byId("filter").value = "";
            readFilter();
            rows.focus();
        }
    });
    byId("events").addEventListener("click", toggleEvents);
    byId("banner-action").addEventListener("click", () =>
        (feed.status.kind === "login" ? askForPassword() : feed.retry()));
    byId("log-out").addEventListener("click", () => {
        forgetCredentials();
        location.reload();
    });
    byId("below-all").addEventListener("click", () => goBelow(""));
    byId("details-below").addEventListener("click", () => goBelow(details.choice.path));
    byId("details-break").addEventListener("click", () =>
        openBreak(feed.entries.get(details.choice.key)));
    byId("details-close").addEventListener("click", closePanel);
    byId("details").addEventListener("keydown", (event) => {
        if (event.key === "Escape") {
            closePanel();
        }
    });
    globalThis.addEventListener("hashchange", showPrefix);
    byId("below").hidden = feed.prefix === "";
    setText(byId("below-path"), visible(feed.prefix));
    if (matchMedia("(min-width: 1100px)").matches) {
        details.show(null);
        openPanel("events", false);
    }
    setInterval(() => {
        if (!document.hidden) {
            tick();
        }
    }, 1000);
    feed.run();
}

start();
