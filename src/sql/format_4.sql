-- SPDX-License-Identifier: Apache-2.0
-- From format 3 to format 4: events (R21). Frozen: later formats have later steps.

ALTER TABLE meta ADD COLUMN events_max       INTEGER NOT NULL DEFAULT 0;
ALTER TABLE meta ADD COLUMN watched_until_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE meta ADD COLUMN last_event       INTEGER NOT NULL DEFAULT 0;

-- R21: the latest events, kept while the store is watched or up to events_max.
CREATE TABLE events (
    sequence    INTEGER PRIMARY KEY,
    at_unix_us  INTEGER NOT NULL,
    event       TEXT    NOT NULL,
    refusal     TEXT    NOT NULL, -- of a refused ask: the outcome; else empty
    parts       TEXT    NOT NULL, -- where: parts (R2), with a space between
    owner       TEXT    NOT NULL, -- empty: no owner
    note        TEXT    NOT NULL,
    ticket      INTEGER NOT NULL,
    token       INTEGER NOT NULL,
    attempt     INTEGER NOT NULL, -- of an item
    is_of_item  INTEGER NOT NULL, -- the first path is QUEUE/ID
    is_deletion INTEGER NOT NULL  -- the value is gone
);

-- The same for people. Times are UTC.
CREATE VIEW lk_events AS
SELECT sequence,
       strftime('%Y-%m-%d %H:%M:%f', at_unix_us / 1e6, 'unixepoch') AS at,
       event,
       nullif(refusal, '') AS refusal,
       parts,
       nullif(owner, '') AS owner,
       nullif(note, '') AS note,
       nullif(ticket, 0) AS ticket,
       nullif(token, 0) AS token,
       nullif(attempt, 0) AS attempt
FROM events
ORDER BY sequence;
