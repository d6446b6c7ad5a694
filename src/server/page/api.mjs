// SPDX-License-Identifier: Apache-2.0
// The service over HTTP. User and password are kept here, in the memory of this tab alone.

let authorization = null;
let user = "";

// status 0: the service was not reached.
export class ServiceError extends Error {
    constructor(status, outcome, text) {
        super(text);
        this.status = status;
        this.outcome = outcome;
    }
}

export function setCredentials(name, password) {
    const bytes = new TextEncoder().encode(`${name}:${password}`);
    authorization = `Basic ${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))}`;
    user = name;
}

export function forgetCredentials() {
    authorization = null;
    user = "";
}

export function userName() {
    return user;
}

// Each segment is encoded, the slashes between them are not.
export function encodePath(path) {
    return path.split("/").map(encodeURIComponent).join("/");
}

async function explain(response) {
    let body = {};
    try {
        body = await response.json();
    } catch {
        // An answer of a proxy: its status has to do.
    }
    return new ServiceError(response.status, body.status ?? "",
        body.error ?? `the service answered ${response.status}`);
}

// Without the browser's own credentials: with them it would ask for a password itself.
async function send(path, options) {
    const headers = { ...options.headers };
    if (authorization !== null) {
        headers.Authorization = authorization;
    }
    let response;
    try {
        response = await fetch(path, { ...options, headers, credentials: "omit", cache: "no-store" });
    } catch (error) {
        if (error.name === "AbortError") {
            throw error;
        }
        throw new ServiceError(0, "unavailable", "the service cannot be reached");
    }
    if (!response.ok) {
        throw await explain(response);
    }
    return response;
}

async function whole(response) {
    try {
        return await response.json();
    } catch (error) {
        if (error.name === "AbortError") {
            throw error;
        }
        throw new ServiceError(0, "unavailable", "the service ended within its answer");
    }
}

export async function get(path, signal) {
    return whole(await send(path, { signal }));
}

export async function post(path, body, signal) {
    return whole(await send(path, {
        method: "POST", signal, body: JSON.stringify(body),
        headers: { "Content-Type": "application/json" },
    }));
}

// The pages of a list, one after the other: the entries in the answer's `field`.
export async function* pages(path, field, query, signal) {
    const asked = new URLSearchParams(query);
    let cursor = null;
    while (cursor !== "0") {
        if (cursor !== null) {
            asked.set("cursor", cursor);
        }
        const answer = await get(`${path}?${asked}`, signal);
        yield answer[field];
        cursor = answer.cursor;
    }
}

// What is known of a value without reading it; null: the path has none.
export async function valueOf(path, signal) {
    let response;
    try {
        response = await send(`/v1/values/${encodePath(path)}`, { signal });
    } catch (error) {
        if (error.status === 404) {
            return null;
        }
        throw error;
    }
    const size = Number(response.headers.get("Content-Length") ?? 0);
    await response.body?.cancel();
    return { size, isInDoubt: response.headers.get("Lockkeeper-In-Doubt") === "1" };
}

// A message of server-sent events: its id, if it has one, and its data.
function parse(message) {
    const parsed = { id: null, data: "" };
    for (const line of message.split("\n")) {
        if (line.startsWith("id: ")) {
            parsed.id = line.slice(4);
        } else if (line.startsWith("data: ")) {
            parsed.data += line.slice(6);
        }
    }
    return parsed;
}

/*
 * Follows the events until the stream ends, which is an error. EventSource cannot send a password.
 * on.begin(): the stream has begun; on.bytes(): something has arrived; on.event(event);
 * on.position(id): the id to go on after.
 */
export async function follow(prefix, after, on, signal) {
    const query = prefix !== "" ? `?${new URLSearchParams({ prefix })}` : "";
    const headers = { Accept: "text/event-stream" };
    if (after !== null) {
        headers["Last-Event-ID"] = after;
    }
    const response = await send(`/v1/events${query}`, { headers, signal });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    on.begin();
    try {
        for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
            const messages = (rest + piece.value).split("\n\n");
            rest = messages.pop();
            on.bytes();
            for (const message of messages.map(parse)) {
                if (message.id !== null) {
                    on.position(message.id);
                }
                if (message.data !== "") {
                    on.event(JSON.parse(message.data));
                }
            }
        }
    } catch (error) {
        if (signal.aborted) {
            throw error;
        }
    }
    throw new ServiceError(0, "unavailable", "the connection has ended");
}
