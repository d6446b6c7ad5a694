#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// usage: validate.js MODULES DESCRIPTION
//
// The description of the HTTP interface is valid OpenAPI 3.0, as @seriousme/openapi-schema-validator
// has it; and the validator refuses one that is not.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const { pathToFileURL } = require("node:url");

const [modules, description] = process.argv.slice(2);
let failed = 0;
let count = 0;

function report(name, problem) {
    count++;
    if (problem) {
        failed++;
        console.log(`# ${JSON.stringify(problem).slice(0, 2000)}`);
    }
    console.log(`${problem ? "not ok" : "ok"} ${count} - ${name}`);
}

async function load() {
    const file = path.join(modules, "node_modules/@seriousme/openapi-schema-validator/index.js");
    try {
        return await import(pathToFileURL(file));
    } catch (error) {
        throw new Error(`no validator in ${modules}: run tools/install-deps test (${error.code})`);
    }
}

// What it has against the description once it was changed; null: nothing.
async function objections(Validator, change) {
    const changed = JSON.parse(fs.readFileSync(description, "utf8"));
    change(changed);
    const validator = new Validator();
    const result = await validator.validate(changed);
    return result.valid && validator.version === "3.0" ? null : (result.errors ?? validator.version);
}

async function main() {
    const { Validator } = await load();
    report("the description is valid OpenAPI 3.0", await objections(Validator, () => undefined));
    const defects = {
        "a type that there is not": (it) => {
            it.components.schemas.Failure.type = "map";
        },
        "an operation without responses": (it) => {
            delete it.paths["/v1/acquire"].post.responses;
        },
        "a reference to nothing": (it) => {
            it.components.schemas.Failure.properties.status.$ref = "#/components/schemas/Nothing";
        },
    };
    for (const [name, change] of Object.entries(defects)) {
        const found = await objections(Validator, change).catch((error) => error.message);
        report(`refused: ${name}`, found === null && name);
    }
    console.log(`1..${count}`);
}

main().catch((error) => report("the validator runs", error.message)).finally(() => {
    process.exitCode = failed > 0 ? 1 : 0;
});
