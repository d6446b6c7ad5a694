// SPDX-License-Identifier: Apache-2.0
// Elements. What comes from the store goes into the page as text, and in no other way.

import { duration, linked, moment, visible } from "./format.mjs";

// element("p", {class: "note", onclick: f}, child, ...). A child is an element or a text; null and
// false are left out.
export function element(tag, properties, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties ?? {})) {
        if (value === null || value === undefined || value === false) {
            continue;
        }
        if (name.startsWith("on")) {
            made.addEventListener(name.slice(2), value);
        } else {
            made.setAttribute(name, value === true ? "" : value);
        }
    }
    for (const child of children.flat()) {
        if (child !== null && child !== undefined && child !== false) {
            made.append(child);
        }
    }
    return made;
}

// A name out of the store: isolated, so that its direction does not reach its neighbours.
export function name(text, properties) {
    return element("bdi", properties, visible(text));
}

function link(url, properties) {
    // The other site learns nothing of this one, and gets no hold of its window.
    return element("a", { href: url, target: "_blank", rel: "noopener noreferrer", ...properties }, url);
}

// A note, in which addresses of the web are links.
export function note(text, properties) {
    return element("bdi", properties, ...linked(text).map(({ text: piece, url }) =>
        url !== undefined ? link(url) : visible(piece)));
}

// The same in a row, where Tab goes to no part of it: the details have the link, too.
export function setNote(node, text) {
    if (node.dataset.note !== text) {
        node.dataset.note = text;
        node.replaceChildren(...linked(text).map(({ text: piece, url }) =>
            url !== undefined ? link(url, { tabindex: "-1" }) : visible(piece)));
    }
}

export function setText(node, text) {
    if (node.textContent !== text) {
        node.textContent = text;
    }
}

export function setAttribute(node, attribute, value) {
    if (value === null || value === undefined || value === false) {
        if (node.hasAttribute(attribute)) {
            node.removeAttribute(attribute);
        }
    } else if (node.getAttribute(attribute) !== String(value)) {
        node.setAttribute(attribute, value);
    }
}

// Sets the text of a duration that goes on.
export function drawRunning(time, now) {
    const at = Number(time.dataset.at);
    setText(time, duration(time.dataset.kind === "age" ? now - at : at - now));
}

// A duration that goes on: how long ago, or until when.
export function running(at, kind, unixMs) {
    const time = element("time", {
        class: "running", "data-at": at, "data-kind": kind, title: moment(unixMs),
        datetime: new Date(unixMs).toISOString(),
    });
    drawRunning(time, Date.now());
    return time;
}

export function byId(id) {
    return document.getElementById(id);
}

// Says it where the page is not seen: to a screen reader.
let turn = false;
export function announce(text) {
    turn = !turn; // the same words twice are said twice
    byId("announcer").textContent = text + (turn ? "\u00a0" : "");
}
