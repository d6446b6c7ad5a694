// SPDX-License-Identifier: Apache-2.0
/*
 * All about one request or path, beside the tree; or the last events, when nothing is chosen. A
 * section is written again only when it would be another one, so that the focus stays in it.
 */

import { encodePath, get, pages, valueOf } from "./api.mjs";
import { byId, element, name, note, running, setAttribute, setText } from "./dom.mjs";
import { bytes, clock, count, counted, duration, moment, ownerText, shortOwnerText, visible } from "./format.mjs";
import { modeText } from "./rows.mjs";
import { isRelated } from "./tree.mjs";

const STEPS_MAX = 24; // requests that are explained for one chain
const BEHIND_MAX = 12;
const ITEMS = 50;
const EVENTS_MAX = 60;
const EVENTS_OF_PATH_MAX = 8;
const LOOK_MS = 500; // between two looks at the service

/*
 * What a waiting request waits for: {record, blockers}. Of several blockers the nearest stand below
 * it, and those that a nearer one waits for stand below that one. A request is found by its ticket:
 * a page of one request, behind the ticket before it.
 */
async function explain(ticket, path, budget, signal) {
    if (budget.left-- <= 0) {
        return { blockers: [], more: 0 };
    }
    const answer = await get(
        `/v1/requests/${encodePath(path)}?count=1&cursor=${ticket - 1}`, signal).catch((error) => {
        if (error.status === 403) {
            return { requests: [] }; // this user may not see what that one waits for
        }
        throw error;
    });
    const parts = answer.requests.filter((part) => part.ticket === ticket);
    const record = parts.find((part) => part.path === path) ?? parts[0];
    if (record === undefined || record.state === "held") {
        return { blockers: [], more: 0 };
    }
    const known = record.blockers ?? [];
    const waiting = known.filter((blocker) => blocker.state === "waiting");
    const nearest = [...waiting.sort((a, b) => b.ticket - a.ticket),
        ...known.filter((blocker) => blocker.state === "held")];
    const covered = new Set();
    const blockers = [];
    for (const blocker of nearest) {
        if (covered.has(blocker.ticket)) {
            continue;
        }
        const below = blocker.state === "held" ? { blockers: [], more: 0, covered: [] }
            : await explain(blocker.ticket, blocker.path, budget, signal);
        (below.covered ?? []).forEach((ticketBelow) => covered.add(ticketBelow));
        blockers.push({ ...blocker, seenAt: Date.now(), below });
    }
    return {
        blockers, more: Math.max(0, record.position - known.length),
        covered: [...covered, ...known.map((blocker) => blocker.ticket)],
    };
}

// The keys of the requests in a chain.
function keysIn(chain, keys = new Set()) {
    for (const blocker of chain.blockers) {
        keys.add(`${blocker.ticket} ${blocker.path}`);
        keysIn(blocker.below, keys);
    }
    return keys;
}

function isBlocked(waiter, by) {
    if (waiter.isHeld || (waiter.owner === by.owner && waiter.user === by.user)
        || !isRelated(waiter.path, by.path)
        || (!by.isHeld && by.ticket > waiter.ticket)) {
        return false;
    }
    return !waiter.isShared || !by.isShared
        || (waiter.limit !== null && waiter.path === by.path);
}

const VERBS = {
    granted: "granted to", queued: "waits:", converted: "converted by", released: "released by",
    withdrawn: "withdrawn by", perished: "perished, of", broken: "broken, of", refused: "refused to",
    value_written: "value written", claimed: "claimed by", stolen: "claimed again by",
    done: "done by", retried: "returned by", pushed: "pushed", parked: "parked",
    unparked: "unparked", dropped: "dropped", gap: "events were missed here; everything was listed again",
};

export function eventItem(event, choose) {
    const path = event.queue !== undefined ? `${event.queue}/${event.id}` : event.path;
    const more = (event.paths?.length ?? 0) > 1 ? ` and ${event.paths.length - 1} more` : "";
    return element("li", { class: `event ${event.event}` },
        element("time", { title: moment(event.at_ms) }, clock(event.at_ms)),
        element("span", { class: "what" },
            path !== undefined && element("button", {
                type: "button", class: "link", onclick: () => choose(event.queue ?? event.path),
            }, name(path)), more, path !== undefined && " ",
            VERBS[event.event] ?? event.event,
            event.owner !== undefined && " ", event.owner !== undefined && name(ownerText(event)),
            event.reason !== undefined && element("span", { class: "aside" },
                " by ", name(event.by ?? ""), ": ", note(event.reason)),
            event.reason === undefined && event.note !== undefined
                && element("span", { class: "aside" }, " (", note(event.note), ")")));
}

export class Details {
    #feed;
    #on;
    #choice = null; // {path, key}; null: the last events
    #entry = null; // as it was last seen
    #hasEnded = false;
    #shown = new Map(); // of each section, what it is made of
    #abort = new AbortController();
    #lookedAt = 0;
    #timer = null;
    #items = ITEMS;

    // on.choose(path, key), on.chain(keys), on.failed(error).
    constructor(feed, on) {
        this.#feed = feed;
        this.#on = on;
    }

    get choice() {
        return this.#choice;
    }

    show(choice) {
        const isSame = choice !== null && this.#choice !== null
            && choice.path === this.#choice.path && choice.key === this.#choice.key;
        if (isSame) {
            return;
        }
        this.#choice = choice;
        this.#entry = null;
        this.#hasEnded = false;
        this.#items = ITEMS;
        this.#abort.abort();
        this.#abort = new AbortController();
        clearTimeout(this.#timer);
        this.#timer = null;
        this.#lookedAt = 0;
        for (const id of ["chain", "behind", "queue", "value", "breaks"]) {
            this.#section(id, "", () => []);
        }
        this.#on.chain(new Set());
        this.update();
    }

    // The data have changed, or the choice.
    update() {
        if (this.#choice === null) {
            this.#showEvents();
            return;
        }
        const { path, key } = this.#choice;
        const entry = key !== null ? this.#feed.entries.get(key) : undefined;
        this.#hasEnded = key !== null && entry === undefined && this.#feed.isLoaded;
        this.#entry = entry ?? this.#entry;
        this.#showHead(path);
        this.#showFacts();
        this.#showBehind();
        this.#showEventsOf(path);
        if (this.#timer === null) {
            const pause = Math.max(0, this.#lookedAt + LOOK_MS - performance.now());
            this.#timer = setTimeout(() => this.#look(), pause);
        }
    }

    // Writes a section if `what` it is made of has changed.
    #section(id, what, make) {
        if (this.#shown.get(id) !== what) {
            this.#shown.set(id, what);
            const children = make();
            byId(`details-${id}`).replaceChildren(...children);
            byId(`details-${id}`).hidden = children.length === 0;
        }
    }

    // ---- what is known already -------------------------------------------------------------

    #showHead(path) {
        const entry = this.#entry;
        const canBreak = entry !== null && !this.#hasEnded;
        setText(byId("details-title"), visible(path));
        byId("details-kind").hidden = entry === null;
        byId("details-break").hidden = !canBreak;
        byId("details-below").hidden = path === this.#feed.prefix;
        byId("details-path-actions").hidden = false;
        if (entry !== null) {
            const state = this.#hasEnded ? "ended" : entry.isRevoked ? "broken"
                : entry.isHeld ? "held" : "waiting";
            setAttribute(byId("details-kind"), "data-state", state);
            setText(byId("details-kind"), state);
        }
    }

    #showFacts() {
        const entry = this.#entry;
        if (entry === null) {
            this.#section("facts", "", () => []);
            return;
        }
        const siblings = [...this.#feed.entries.values()].filter((other) =>
            other.ticket === entry.ticket && other.owner === entry.owner && other.user === entry.user
            && other.key !== entry.key);
        const what = JSON.stringify([entry, this.#hasEnded, siblings.map((part) => part.key)]);
        this.#section("facts", what, () => this.#facts(entry, siblings));
    }

    #facts(entry, siblings) {
        const list = element("dl", { class: "facts" });
        const fact = (term, ...content) => list.append(
            element("dt", {}, term), element("dd", {}, ...content));
        if (this.#hasEnded) {
            fact("Ended", this.#endText(entry));
        }
        fact("Owner", name(ownerText(entry), { class: "mono" }));
        if (entry.note !== "") {
            fact("Note", note(entry.note));
        }
        fact("Mode", entry.limit !== null
            ? `${counted(entry.units, "unit", "units")} of ${count(entry.limit)}` : modeText(entry));
        if (!this.#hasEnded) {
            fact(entry.isHeld ? "Held" : "Waiting", running(entry.since, "age", entry.since),
                element("span", { class: "aside" }, `, since ${moment(entry.since)}`));
            fact("Left", running(entry.endsAt, "left", entry.endsAt),
                element("span", { class: "aside" }, entry.isRevoked ? ", broken"
                    : `, until ${clock(entry.endsAt)} unless renewed`));
        }
        fact("Ttl", duration(entry.ttl));
        fact("Ticket", element("span", { class: "mono" }, String(entry.ticket)));
        if (entry.token !== null) {
            fact("Token", element("span", { class: "mono" }, String(entry.token)));
        }
        if (siblings.length > 0) {
            fact("With", element("ul", { class: "plain" }, siblings.map((part) =>
                element("li", {}, this.#link(part.path, part.key)))));
        }
        return [list];
    }

    #endText(entry) {
        const event = this.#feed.log.find((one) => one.ticket === entry.ticket
            && ["released", "withdrawn", "perished", "broken", "done", "retried"]
                .includes(one.event));
        return event !== undefined ? `${event.event} at ${moment(event.at_ms)}` : "it is no longer there";
    }

    #link(path, key, text = path) {
        return element("button", {
            type: "button", class: "link mono", onclick: () => this.#on.choose(path, key),
        }, name(text));
    }

    #showBehind() {
        const entry = this.#entry;
        if (entry === null || this.#hasEnded) {
            this.#section("behind", "", () => []);
            return;
        }
        const behind = [...this.#feed.entries.values()]
            .filter((waiter) => isBlocked(waiter, entry))
            .sort((a, b) => a.ticket - b.ticket);
        this.#section("behind", behind.map((waiter) => waiter.key).join("\n"), () => (
            behind.length === 0 ? [] : [
                element("h3", {}, `Waiting behind it: ${count(behind.length)}`),
                element("ul", { class: "plain" },
                    behind.slice(0, BEHIND_MAX).map((waiter) => element("li", {},
                        this.#link(waiter.path, waiter.key, shortOwnerText(waiter)), " wants ",
                        name(waiter.path, { class: "mono" })))),
                behind.length > BEHIND_MAX && element("p", { class: "aside" },
                    `and ${count(behind.length - BEHIND_MAX)} more`),
            ].filter(Boolean)));
    }

    #showEvents() {
        byId("details-kind").hidden = true;
        byId("details-path-actions").hidden = true;
        setText(byId("details-title"), "Events");
        for (const id of ["facts", "chain", "behind", "queue", "value", "breaks"]) {
            this.#section(id, "", () => []);
        }
        const events = this.#feed.log.slice(0, EVENTS_MAX);
        this.#section("events", `all ${events[0]?.key}`, () => (events.length === 0
            ? [element("p", { class: "aside" }, "Nothing has happened since this page was opened.")]
            : [this.#eventList(events)]));
    }

    #eventList(events) {
        return element("ol", { class: "events" },
            events.map((event) => eventItem(event, (path) => this.#on.choose(path, null))));
    }

    #showEventsOf(path) {
        const events = this.#feed.log.filter((event) =>
            event.queue === path || (event.paths ?? []).includes(path))
            .slice(0, EVENTS_OF_PATH_MAX);
        this.#section("events", `of ${path} ${events[0]?.key}`, () => (events.length === 0 ? []
            : [element("h3", {}, "Events at this path"), this.#eventList(events)]));
    }

    // ---- what the service is asked for ------------------------------------------------------

    async #look() {
        const { signal } = this.#abort;
        const { path } = this.#choice;
        this.#lookedAt = performance.now();
        try {
            if (this.#entry !== null && !this.#entry.isHeld && !this.#hasEnded) {
                await this.#lookAtChain(signal);
            } else {
                this.#section("chain", "", () => []);
                this.#on.chain(new Set());
            }
            await this.#lookAtQueue(path, signal);
            this.#offerValue(path);
            this.#offerBreaks(path);
        } catch (error) {
            if (!signal.aborted) {
                this.#on.failed(error);
            }
        }
        if (!signal.aborted) {
            this.#timer = null;
        }
    }

    async #lookAtChain(signal) {
        const { ticket, path } = this.#entry;
        const chain = await explain(ticket, path, { left: STEPS_MAX }, signal);
        if (signal.aborted) {
            return;
        }
        this.#on.chain(keysIn(chain));
        this.#section("chain", JSON.stringify(chain, (key, value) =>
            (key === "expires_in_ms" || key === "seenAt" ? undefined : value)), () => (
            chain.blockers.length === 0 ? [] : [
                element("h3", { id: "chain-title" }, "It waits for"),
                this.#steps(chain),
            ]));
    }

    #steps(chain) {
        const steps = element("ol", { class: "chain" });
        const add = (blocker, into) => {
            const step = element("li", { class: `step ${blocker.state}` },
                blocker.owner === "" ? element("em", {}, "another user")
                    : this.#link(blocker.path, `${blocker.ticket} ${blocker.path}`, shortOwnerText(blocker)),
                blocker.state === "held" ? " holds " : " waits ahead for ",
                name(blocker.path, { class: "mono" }),
                element("span", { class: "aside" }, ", ",
                    running(blocker.seenAt + blocker.expires_in_ms, "left",
                        blocker.seenAt + blocker.expires_in_ms), " left",
                    blocker.note !== undefined && " (", blocker.note !== undefined
                        && note(blocker.note), blocker.note !== undefined && ")"));
            into.append(step);
            const { blockers, more } = blocker.below;
            if (blockers.length === 1 && more === 0) {
                add(blockers[0], into); // the next link of one chain
            } else if (blockers.length > 0) {
                step.append(this.#steps(blocker.below));
            }
        };
        chain.blockers.forEach((blocker) => add(blocker, steps));
        if (chain.more > 0) {
            steps.append(element("li", { class: "step more" },
                `and ${counted(chain.more, "request", "requests")} more`));
        }
        return steps;
    }

    // A value is looked at when it is asked for.
    #offerValue(path) {
        const isInDoubt = this.#feed.doubts.has(path);
        this.#section("value", `${path} ${isInDoubt}`, () => {
            const body = element("div", {});
            return [
                isInDoubt && element("p", { class: "doubt-note" },
                    element("span", { class: "badge doubt" }, "value in doubt"),
                    " Its last writer's lease perished, or was broken at once: it may describe "
                    + "unfinished work. The next put ends the doubt."),
                element("details", {
                    ontoggle: async (event) => {
                        if (event.target.open) {
                            body.replaceChildren(await valueAt(path, this.#abort.signal));
                        }
                    },
                }, element("summary", {}, "Value"), body),
            ].filter(Boolean);
        });
    }

    async #lookAtQueue(path, signal) {
        const queue = this.#feed.queues.get(path);
        if (queue === undefined) {
            this.#section("queue", "", () => []);
            return;
        }
        const items = [];
        let hasMore = false;
        for await (const page of pages(
            `/v1/items/${encodePath(path)}`, "items", { count: this.#items }, signal)) {
            items.push(...page);
            hasMore = items.length >= this.#items;
            if (hasMore) {
                break;
            }
        }
        if (signal.aborted) {
            return;
        }
        const what = JSON.stringify([queue, items.map((item) => [
            item.id, item.state, item.attempts, item.owner, item.user, item.last_error, item.progress])]);
        this.#section("queue", what, () => this.#queue(queue, items, hasMore));
    }

    #queue(queue, items, hasMore) {
        const numbers = [["ready", queue.ready_now], ["claimed", queue.claimed_now],
            ["delayed", queue.delayed_now], ["parked", queue.parked_now], ["done", queue.done],
            ["stolen", queue.steals]];
        return [
            element("h3", {}, "Queue"),
            element("dl", { class: "numbers" }, numbers.map(([word, number]) =>
                element("div", { class: word }, element("dt", {}, word),
                    element("dd", {}, count(number))))),
            queue.readySince !== null && element("p", { class: "aside" }, "The oldest ready item has been so for ",
                running(queue.readySince, "age", queue.readySince), "."),
            items.length > 0 && element("table", { class: "items" },
                element("thead", {}, element("tr", {}, ["Item", "State", "Attempts"].map((title) =>
                    element("th", { scope: "col" }, title)))),
                element("tbody", {}, items.slice(0, this.#items).map((item) => this.#item(item)))),
            hasMore && element("button", {
                type: "button", onclick: () => {
                    this.#items += ITEMS;
                    this.update();
                },
            }, "More items"),
        ].filter(Boolean);
    }

    #item(item) {
        const why = item.last_error ?? (item.last_exit !== undefined ? `exit ${item.last_exit}` : null);
        return element("tr", { class: item.state },
            element("td", {}, name(item.id, { class: "mono" }),
                why !== null && element("div", { class: "aside" }, name(why)),
                item.progress !== undefined
                    && element("div", { class: "aside" }, name(item.progress))),
            element("td", {}, item.state, item.owner !== undefined
                && element("div", { class: "aside" }, name(ownerText(item)))),
            element("td", { class: "number" }, count(item.attempts)));
    }

    // Past breaks are read when they are asked for.
    #offerBreaks(path) {
        this.#section("breaks", path, () => {
            const list = element("div", {});
            return [element("details", {
                ontoggle: async (event) => {
                    if (event.target.open) {
                        list.replaceChildren(await breaksAt(path, this.#abort.signal, 20));
                    }
                },
            }, element("summary", {}, "Past breaks at or below this path"), list)];
        });
    }
}

// The size of a value, and whether it is in doubt: not the value itself.
async function valueAt(path, signal) {
    try {
        const value = await valueOf(path, signal);
        return element("p", { class: "aside" }, value === null ? "The path has none."
            : `${bytes(value.size)}${value.isInDoubt ? ", in doubt" : ""}`);
    } catch (error) {
        return element("p", { class: "aside" }, `It cannot be read: ${error.message}`);
    }
}

// The last breaks at or below a path, as a list.
export async function breaksAt(path, signal, max) {
    let last = [];
    try {
        for await (const page of pages("/v1/audit", "audit", { prefix: path, count: 1000 }, signal)) {
            last = [...last, ...page].slice(-max);
        }
    } catch (error) {
        return element("p", { class: "aside" }, `They cannot be read: ${error.message}`);
    }
    if (last.length === 0) {
        return element("p", { class: "aside" }, "None is recorded.");
    }
    return element("ul", { class: "plain breaks" }, last.reverse().map((entry) => element("li", {},
        element("time", { title: moment(entry.at_ms) }, clock(entry.at_ms)), " ",
        name(entry.path, { class: "mono" }), ` ${entry.state} by `, name(ownerText(entry)),
        element("div", { class: "aside" }, "broken by ", name(entry.by), ": ", note(entry.reason)))));
}
