// SPDX-License-Identifier: Apache-2.0
/*
 * What the service has, kept up to date: its live requests, queues and values in doubt. An event
 * says where something has changed, and that part is listed again; so what is shown is always what
 * the service has answered, never a guess. A burst of events leads to one listing. Values in doubt
 * are few, and listed as a whole when an event may have changed which ones are.
 */

import { ServiceError, follow, get, pages, userName } from "./api.mjs";
import { isBelow } from "./tree.mjs";

export const REQUESTS_MAX = 20000; // more are not shown
const PAGE = 2000;
const LOG_MAX = 200;
const PLACES_MAX = 16; // more of them are not listed one by one
const SETTLE_MS = 100;
const OF_DOUBTS = new Set(["perished", "broken", "value_written", "gap"]);
const DUTY = 8; // a listing is followed by a pause of so many times its duration
const PAUSE_MAX_MS = 5000;
const RENEWALS_MS = 20000; // between two readings of everything: renewals are no events
const SILENCE_MS = 40000; // the service says something every 15 s
const POLL_MS = 5000;
const HIDDEN_MS = 60000;
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 15000;

// The way to the browser takes now more, now less: a moment that is nearly the former one is it.
function steady(moment, former) {
    return former !== null && Math.abs(former - moment) < 1500 ? former : moment;
}

function newEntry(record, now, former) {
    return {
        key: `${record.ticket} ${record.path}`,
        rowId: `request ${record.ticket} ${record.path}`,
        path: record.path,
        owner: record.owner,
        user: record.user,
        note: record.note ?? "",
        ticket: record.ticket,
        token: record.token ?? null,
        isHeld: record.state === "held",
        isRevoked: record.revoked === true,
        isShared: record.mode === "shared",
        limit: record.limit ?? null,
        units: record.units ?? null,
        ttl: record.ttl_ms,
        since: steady(now - record.age_ms, former?.since ?? null),
        endsAt: now + record.expires_in_ms,
    };
}

// What is kept of a queue says since when its oldest ready item has been so (null: none is), and not
// for how long, so that two listings of a queue that has not changed are the same.
function newQueue({ oldest_ready_ms: age, ...counts }, now, former) {
    const since = age === undefined ? null : steady(now - age, former?.readySince ?? null);
    return { ...counts, readySince: since };
}

export class Feed {
    entries = new Map();
    queues = new Map();
    doubts = new Set();
    log = []; // events, the last first
    isCut = false; // there are more requests than REQUESTS_MAX
    isLoaded = false;
    // kind: connecting, live, polling, lost, login, denied or paused
    status = { kind: "connecting", since: Date.now(), error: null, retryAt: null };

    #prefix;
    #on;
    #position = null;
    #failures = 0;
    #session = null; // aborts it
    #wake = null;
    #heardAt = 0;
    #isAllDirty = false;
    #dirtyPaths = new Set();
    #dirtyQueues = new Set();
    #areDoubtsDirty = false;
    #isListing = false;
    #timer = null;
    #pause = SETTLE_MS;
    #fullCost = 0; // of reading everything, in ms
    #listedAt = 0;
    #hiddenTimer = null;

    // on.change(): other data; on.status(): another status; on.event(event).
    constructor(prefix, on) {
        this.#prefix = prefix;
        this.#on = on;
        setInterval(() => this.#everySecond(), 1000);
        setInterval(() => this.#everyWhile(), POLL_MS);
        document.addEventListener("visibilitychange", () => this.#visibilityChanged());
        globalThis.addEventListener("online", () => this.retry());
    }

    get prefix() {
        return this.#prefix;
    }

    // Shows what is at or below another path; "": all.
    setPrefix(prefix) {
        this.#prefix = prefix;
        this.entries = new Map();
        this.queues = new Map();
        this.doubts = new Set();
        this.isLoaded = false;
        this.#position = null;
        this.retry();
    }

    // Connects now, whatever it is waiting for.
    retry() {
        this.#failures = 0;
        this.#session?.abort();
        this.#wake?.();
    }

    markPath(path) {
        this.#dirtyPaths.add(path);
        this.#schedule();
    }

    async run() {
        for (;;) {
            const session = new AbortController();
            let error = null;
            this.#session = session;
            try {
                await this.#follow(session.signal);
            } catch (caught) {
                error = session.signal.aborted ? session.signal.reason : caught;
            }
            session.abort(); // whatever it is still reading
            this.#endListing();
            await this.#recover(error);
        }
    }

    // ---- the connection --------------------------------------------------------------------

    #setStatus(kind, error = null, retryAt = null) {
        const isSame = this.status.kind === kind;
        this.status = { kind, since: isSame ? this.status.since : Date.now(), error, retryAt };
        this.#on.status();
    }

    async #follow(signal) {
        if (this.status.kind !== "lost") {
            this.#setStatus("connecting");
        }
        this.#heardAt = Date.now();
        try {
            await follow(this.#prefix, this.#position, {
                begin: () => this.#markAll(),
                bytes: () => {
                    this.#heardAt = Date.now();
                },
                position: (id) => {
                    this.#position = id;
                },
                event: (event) => this.#take(event),
            }, signal);
        } catch (error) {
            // No right to follow, or too many followers: what can be listed is still shown.
            if (error.status !== 403 && error.status !== 429) {
                throw error;
            }
            await this.#poll(signal);
        }
    }

    async #poll(signal) {
        for (let rounds = 0; rounds < 12; rounds++) {
            await this.#list({ isAll: true, paths: [], queues: [], hasDoubts: true }, signal);
            this.#setStatus("polling");
            await this.#sleep(POLL_MS);
            if (signal.aborted) {
                return;
            }
        }
    }

    // Waits for as long as the error demands.
    async #recover(error) {
        const wasAborted = error === null || error.name === "AbortError";
        if (error?.status === 401) {
            this.#setStatus("login", error);
            await this.#sleep(null);
        } else if (error?.status === 403 || error?.status === 400) {
            this.#setStatus("denied", error);
            await this.#sleep(null);
        } else if (document.hidden && this.status.kind === "paused") {
            await this.#sleep(null);
        } else if (!wasAborted) {
            const delay = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** this.#failures++);
            const pause = delay * (0.75 + Math.random() / 2); // many pages do not come at once
            this.#setStatus("lost", error, Date.now() + pause);
            await this.#sleep(pause);
        }
    }

    #sleep(ms) {
        return new Promise((resolve) => {
            this.#wake = resolve;
            if (ms !== null) {
                setTimeout(resolve, ms);
            }
        });
    }

    #everySecond() {
        const now = Date.now();
        if (this.status.kind !== "live" || document.hidden) {
            return;
        }
        if (now - this.#heardAt > SILENCE_MS) {
            this.#session.abort(new ServiceError(0, "unavailable", "nothing has arrived for 40 s"));
            return;
        }
        // A request whose end has passed was renewed, or has ended.
        for (const entry of this.entries.values()) {
            if (entry.endsAt < now && !(entry.askedAt > now - POLL_MS)) {
                entry.askedAt = now;
                this.#dirtyPaths.add(entry.path);
            }
        }
        this.#schedule();
    }

    // A user may not watch everything that it may read: those changes are found by reading.
    #everyWhile() {
        const pause = userName() !== "" ? POLL_MS : RENEWALS_MS;
        if (this.status.kind === "live" && !document.hidden && this.#fullCost * 20 < pause
            && performance.now() - this.#listedAt > pause - POLL_MS / 2) {
            this.#markAll();
        }
    }

    // A browser opens few connections to one service: a tab that is not looked at gives its own up.
    #visibilityChanged() {
        clearTimeout(this.#hiddenTimer);
        if (document.hidden) {
            this.#hiddenTimer = setTimeout(() => {
                if (this.status.kind === "live" || this.status.kind === "polling") {
                    this.#setStatus("paused");
                    this.#session.abort();
                }
            }, HIDDEN_MS);
        } else if (this.status.kind === "paused") {
            this.retry();
        } else if (this.status.kind === "live") {
            this.#markAll();
        }
    }

    // ---- events ----------------------------------------------------------------------------

    #take(event) {
        event.key = event.sequence;
        this.log.unshift(event);
        this.log.length = Math.min(this.log.length, LOG_MAX);
        if (event.event === "gap") {
            this.#markAll();
        }
        for (const path of event.paths ?? []) {
            this.#dirtyPaths.add(path);
        }
        if (event.queue !== undefined) {
            this.#dirtyQueues.add(event.queue);
        }
        this.#areDoubtsDirty ||= OF_DOUBTS.has(event.event);
        this.#on.event(event);
        this.#schedule();
    }

    // ---- listing ---------------------------------------------------------------------------

    #markAll() {
        this.#isAllDirty = true;
        this.#areDoubtsDirty = true;
        this.#schedule();
    }

    #schedule() {
        if (!this.#isListing && this.#timer === null
            && (this.#isAllDirty || this.#dirtyPaths.size > 0 || this.#dirtyQueues.size > 0)) {
            this.#timer = setTimeout(() => this.#listDirty(), this.isLoaded ? this.#pause : 0);
        }
    }

    #endListing() {
        clearTimeout(this.#timer);
        this.#timer = null;
        this.#forgetDirty();
    }

    #forgetDirty() {
        this.#isAllDirty = false;
        this.#areDoubtsDirty = false;
        this.#dirtyPaths.clear();
        this.#dirtyQueues.clear();
    }

    // Many paths: their roots; many roots: everything.
    #takeDirty() {
        let paths = [...this.#dirtyPaths].filter((path) => isBelow(path, this.#prefix));
        const queues = [...this.#dirtyQueues];
        let isAll = this.#isAllDirty || queues.length > PLACES_MAX;
        if (paths.length > PLACES_MAX) {
            const roots = this.#prefix !== "" ? [this.#prefix]
                : [...new Set(paths.map((path) => path.split("/", 1)[0]))];
            isAll ||= roots.length > PLACES_MAX;
            paths = roots;
        }
        const hasDoubts = this.#areDoubtsDirty;
        this.#forgetDirty();
        return { isAll, paths, queues, hasDoubts };
    }

    async #listDirty() {
        const { signal } = this.#session;
        const began = performance.now();
        this.#timer = null;
        this.#isListing = true;
        try {
            await this.#list(this.#takeDirty(), signal);
            if (!signal.aborted && this.status.kind !== "live") {
                this.#failures = 0;
                this.#setStatus("live");
            }
        } catch (error) {
            if (!signal.aborted) {
                this.#session.abort(error);
            }
        }
        this.#isListing = false;
        this.#pause = Math.min(PAUSE_MAX_MS, SETTLE_MS + DUTY * (performance.now() - began));
        this.#schedule();
    }

    async #list({ isAll, paths, queues, hasDoubts }, signal) {
        const began = performance.now();
        if (isAll) {
            await this.#listAll(signal);
            this.#listedAt = performance.now();
            this.#fullCost = this.#listedAt - began;
        } else {
            for (const path of paths) {
                await this.#listBelow(path, signal);
            }
            for (const queue of queues) {
                await this.#listQueue(queue, signal);
            }
        }
        if (hasDoubts) {
            await this.#listDoubts(signal);
        }
        if (!signal.aborted) {
            this.#on.change();
        }
    }

    #query(prefix) {
        return prefix !== "" ? { prefix, count: PAGE } : { count: PAGE };
    }

    async #collect(prefix, signal) {
        const listed = new Map();
        for await (const page of pages("/v1/requests", "requests", this.#query(prefix), signal)) {
            const now = Date.now();
            for (const record of page) {
                const former = this.entries.get(`${record.ticket} ${record.path}`);
                const entry = newEntry(record, now, former);
                listed.set(entry.key, entry);
            }
            if (listed.size >= REQUESTS_MAX) {
                break;
            }
        }
        return listed;
    }

    async #listAll(signal) {
        const entries = await this.#collect(this.#prefix, signal);
        const queues = new Map();
        for await (const page of pages("/v1/queues", "queues", this.#query(this.#prefix), signal)) {
            const now = Date.now();
            page.forEach((queue) => queues.set(queue.queue,
                newQueue(queue, now, this.queues.get(queue.queue))));
            if (queues.size >= REQUESTS_MAX) {
                break;
            }
        }
        if (!signal.aborted) {
            this.entries = entries;
            this.queues = queues;
            this.isCut = entries.size >= REQUESTS_MAX || queues.size >= REQUESTS_MAX;
            this.isLoaded = true;
        }
    }

    async #listDoubts(signal) {
        const doubts = new Set();
        for await (const page of pages("/v1/doubts", "values", this.#query(this.#prefix), signal)) {
            page.forEach((value) => doubts.add(value.path));
            if (doubts.size >= REQUESTS_MAX) {
                break;
            }
        }
        if (!signal.aborted) {
            this.doubts = doubts;
        }
    }

    async #listBelow(prefix, signal) {
        const listed = await this.#collect(prefix, signal);
        if (signal.aborted) {
            return;
        }
        for (const [key, entry] of this.entries) {
            if (isBelow(entry.path, prefix) && !listed.has(key)) {
                this.entries.delete(key);
            }
        }
        for (const [key, entry] of listed) {
            this.entries.set(key, entry);
        }
    }

    async #listQueue(path, signal) {
        const answer = await get(
            `/v1/queues?${new URLSearchParams({ prefix: path, count: 1 })}`, signal);
        const queue = answer.queues[0];
        if (signal.aborted) {
            return;
        }
        if (queue?.queue === path) {
            this.queues.set(path, newQueue(queue, Date.now(), this.queues.get(path)));
        } else {
            this.queues.delete(path);
        }
    }
}
