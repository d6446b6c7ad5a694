// SPDX-License-Identifier: Apache-2.0
// The dialog that breaks a request: it asks for a reason, and then shows what was broken.

import { post, userName } from "./api.mjs";
import { breaksAt } from "./details.mjs";
import { announce, byId, element, name } from "./dom.mjs";
import { counted, duration, ownerText } from "./format.mjs";

let target = null;
let lastName = "";

function failureText(error) {
    if (error.status === 403) {
        return `Denied: ${error.message}`;
    }
    if (error.status === 0) {
        return "The connection was lost: it is unknown whether the break took effect. "
            + "The past breaks of the path tell it.";
    }
    return error.message;
}

function describe(entry) {
    const verb = entry.isHeld ? " holds " : " waits for ";
    byId("break-what").replaceChildren(
        name(ownerText(entry), { class: "mono" }), verb, name(entry.path, { class: "mono" }),
        entry.note !== "" ? " (" : "", entry.note !== "" ? name(entry.note) : "",
        entry.note !== "" ? ")" : "");
    byId("break-effect").textContent = entry.isHeld
        ? "The lease can no longer be renewed. It ends when it is released, or in "
            + `${duration(entry.endsAt - Date.now())}, whichever comes first.`
        : "The request leaves the queue.";
    byId("break-now-choice").hidden = !entry.isHeld;
}

export function openBreak(entry) {
    target = entry;
    describe(entry);
    byId("break-form").reset();
    byId("break-by").value = userName() || lastName;
    byId("break-by-field").hidden = userName() !== "";
    byId("break-form").hidden = false;
    byId("break-result").hidden = true;
    byId("break-error").textContent = "";
    byId("break-submit").disabled = false;
    byId("break-dialog").showModal();
    byId("break-reason").focus();
}

async function showResult(broken, path) {
    const result = byId("break-result");
    const text = broken === 0 ? "Nothing was broken: the request had ended already."
        : `${counted(broken, "request was", "requests were")} broken.`;
    const list = broken > 0 ? await breaksAt(path, undefined, broken) : "";
    byId("break-result-body").replaceChildren(
        element("p", { class: "outcome" }, text), list);
    byId("break-form").hidden = true;
    result.hidden = false;
    byId("break-close").focus();
    announce(text);
}

async function submit(on) {
    const by = byId("break-by").value.trim();
    const body = {
        path: target.path,
        owner: target.user !== undefined ? `${target.user}//${target.owner}` : target.owner,
        reason: byId("break-reason").value.trim(),
    };
    if (byId("break-scope-all").checked) {
        delete body.owner;
    }
    if (target.isHeld && byId("break-now").checked) {
        body.now = true;
    }
    if (by !== "") {
        body.by = by;
    }
    byId("break-submit").disabled = true;
    byId("break-error").textContent = "";
    try {
        const answer = await post("/v1/break", body);
        lastName = by;
        await showResult(answer.broken, target.path);
        on.broken(target.path);
    } catch (error) {
        byId("break-error").textContent = failureText(error);
        byId("break-submit").disabled = false;
        if (error.status === 401) {
            on.failed(error);
        }
    }
}

// on.broken(path), on.failed(error), on.closed().
export function prepareBreak(on) {
    const dialog = byId("break-dialog");
    byId("break-form").addEventListener("submit", (event) => {
        event.preventDefault();
        if (byId("break-reason").value.trim() === "") {
            byId("break-error").textContent = "A reason is needed: it is recorded.";
            byId("break-reason").focus();
            return;
        }
        submit(on);
    });
    byId("break-cancel").addEventListener("click", () => dialog.close());
    byId("break-close").addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", on.closed);
}
