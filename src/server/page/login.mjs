// SPDX-License-Identifier: Apache-2.0
// The dialog that asks for user and password. Nothing of them is stored.

import { setCredentials } from "./api.mjs";
import { byId } from "./dom.mjs";

let hasTried = false;

function setBusy(isBusy) {
    byId("login-submit").disabled = isBusy;
    byId("login-submit").textContent = isBusy ? "Checking…" : "Log in";
}

// The service has refused: without a password yet, or with this one.
export function askForPassword() {
    const dialog = byId("login-dialog");
    setBusy(false);
    byId("login-error").textContent = hasTried ? "User or password is wrong." : "";
    if (!dialog.open) {
        dialog.showModal();
    }
    if (hasTried) {
        byId("login-password").select(); // which moves the focus as well
    } else {
        byId("login-user").focus();
    }
}

export function accepted() {
    const dialog = byId("login-dialog");
    hasTried = false;
    byId("login-password").value = "";
    byId("login-error").textContent = "";
    setBusy(false);
    if (dialog.open) {
        dialog.close();
    }
}

// on.ready(): credentials are set.
export function prepareLogin(on) {
    byId("login-form").addEventListener("submit", (event) => {
        event.preventDefault();
        hasTried = true;
        byId("login-error").textContent = "";
        setBusy(true);
        setCredentials(byId("login-user").value.trim(), byId("login-password").value);
        on.ready();
    });
}
