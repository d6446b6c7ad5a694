// SPDX-License-Identifier: Apache-2.0
'use strict';
// Lockkeeper for Node.js: locks, values, queues of work and events. README.md has examples.
const {native} = require('./lib/native');
const {outcomeOf, errorOf, check, OUTCOMES, ...errors} = require('./lib/errors');
const {Store, open} = require('./lib/store');
const {Lease} = require('./lib/lease');
const {Claim} = require('./lib/claims');
const {Work, Item} = require('./lib/work');
const {Watch} = require('./lib/watch');

module.exports = {open, version: native.version, Store, Lease, Work, Item, Claim, Watch, ...errors};
