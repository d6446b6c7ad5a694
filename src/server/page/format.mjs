// SPDX-License-Identifier: Apache-2.0
// Numbers, times and names as text.

const UNITS = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];

// Two units at most: 3s, 1m25s, 2h, 3d4h.
export function duration(ms) {
    let seconds = Math.max(0, Math.floor(ms / 1000));
    const first = UNITS.findIndex(([, size]) => seconds >= size);
    if (first < 0) {
        return "0s";
    }
    const [name, size] = UNITS[first];
    const text = Math.floor(seconds / size) + name;
    seconds %= size;
    if (first === UNITS.length - 1) {
        return text;
    }
    const [nextName, nextSize] = UNITS[first + 1];
    const rest = Math.floor(seconds / nextSize);
    return rest > 0 ? text + rest + nextName : text;
}

function two(number) {
    return String(number).padStart(2, "0");
}

// Unix time as the local date and time.
export function moment(unixMs) {
    const at = new Date(unixMs);
    const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
    return `${day} ${clock(unixMs)}`;
}

export function clock(unixMs) {
    const at = new Date(unixMs);
    return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

const GROUPS = new Intl.NumberFormat("en");

export function count(number) {
    return GROUPS.format(number);
}

export function counted(number, one, many) {
    return `${count(number)} ${number === 1 ? one : many}`;
}

// Characters that a reader cannot see, and that change how others are read: controls, directions,
// joiners, and separators of lines. They are named instead.
// eslint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

export function visible(text) {
    return text.replace(HIDDEN, (hidden) =>
        `\u2039U+${hidden.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}\u203a`);
}

// Addresses of the web, without what ends the sentence that they are in.
const ADDRESS = /\bhttps?:\/\/[^\s<>"'`|\\^{}]*[^\s<>"'`|\\^{}.,;:!?)\]]/giu;

// The address, if a link leads where its text says; else null: with a user before the host
// ("https://bank.example@evil.example"), or with characters that are not seen.
function addressOf(text) {
    let url;
    try {
        url = new URL(text);
    } catch {
        return null;
    }
    const isPlain = url.username === "" && url.password === "";
    const isOfWeb = url.protocol === "http:" || url.protocol === "https:";
    return isOfWeb && isPlain && visible(text) === text ? text : null;
}

// The pieces of a text, in their order: {text}, or {text, url} of an address.
export function linked(text) {
    const pieces = [];
    let at = 0;
    for (const found of text.matchAll(ADDRESS)) {
        const url = addressOf(found[0]);
        if (url !== null) {
            pieces.push({ text: text.slice(at, found.index) }, { text: url, url });
            at = found.index + url.length;
        }
    }
    pieces.push({ text: text.slice(at) });
    return pieces.filter((piece) => piece.text !== "");
}

// The part for people of an owner that was made (`user@host/pid:BOOT:NUMBER:NUMBER`, src/base/owner.h):
// lists have room for that, and lk shows no more.
export function shortOwnerText({ owner, user }) {
    return ownerText({ owner: owner.replace(/^(.*@.*\/\d+)(:[0-9a-f]+){3}$/su, "$1"), user });
}

// The owner of a record, and of a service with users whose owner it is.
export function ownerText({ owner, user }) {
    return user !== undefined ? `${owner} of ${user}` : owner;
}

export function bytes(size) {
    return size < 1024 ? counted(size, "byte", "bytes") : `${(size / 1024).toFixed(1)} KiB`;
}
