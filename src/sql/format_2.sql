-- SPDX-License-Identifier: Apache-2.0
-- From format 1 to format 2: values (R15) and work (R16). Frozen: later formats have later steps.

ALTER TABLE requests ADD COLUMN wants_value  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN is_claim     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN ask_number   INTEGER NOT NULL DEFAULT 0;
ALTER TABLE requests ADD COLUMN max_attempts INTEGER NOT NULL DEFAULT 0;
CREATE INDEX requests_claims_by_ask ON requests (owner, ask_number) WHERE ask_number <> 0;

-- R15: the value kept at a path.
CREATE TABLE path_values (
    path     TEXT    PRIMARY KEY,
    in_doubt INTEGER NOT NULL, -- its last holder perished; what it describes may be half done
    bytes    BLOB    NOT NULL
);

-- R16: the queues that have had items, and the counters of each.
CREATE TABLE queues (
    path       TEXT PRIMARY KEY,
    pushed     INTEGER NOT NULL,
    duplicates INTEGER NOT NULL, -- pushes of items that existed
    claims     INTEGER NOT NULL,
    steals     INTEGER NOT NULL, -- claims of items whose former claim had perished
    done       INTEGER NOT NULL,
    retried    INTEGER NOT NULL,
    parked     INTEGER NOT NULL
) WITHOUT ROWID;

-- R16: work. A claimed item has a request at queue/id.
CREATE TABLE items (
    number      INTEGER PRIMARY KEY,
    queue       TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    sequence    INTEGER NOT NULL, -- in its queue: the smaller, the older
    state       TEXT    NOT NULL CHECK (state IN ('ready', 'delayed', 'claimed', 'parked')),
    due_us      INTEGER NOT NULL, -- of what is delayed
    due_unix_us INTEGER NOT NULL, -- the same, by the wall clock at that time
    attempts    INTEGER NOT NULL, -- claims so far
    was_lost    INTEGER NOT NULL, -- the last claim perished: the next one is a steal
    needs       TEXT    NOT NULL, -- parts that a claim takes along (R2), with a space between
    UNIQUE (queue, id)
);
CREATE INDEX items_by_state ON items (queue, state, sequence);
CREATE INDEX items_by_due ON items (queue, due_us) WHERE state = 'delayed';

-- The items' values, where they have one; apart, so that a claim does not rewrite them.
CREATE TABLE item_values (
    item  INTEGER PRIMARY KEY REFERENCES items (number),
    bytes BLOB    NOT NULL
);

-- The items, in the order of arrival. Times are UTC.
CREATE VIEW lk_items AS
SELECT items.queue,
       items.id,
       CASE WHEN items.state = 'delayed'
                 AND items.due_unix_us <= (julianday('now') - julianday('1970-01-01')) * 86400e6
            THEN 'ready' ELSE items.state END AS state,
       items.attempts,
       (SELECT requests.owner FROM parts JOIN requests ON requests.id = parts.request
        WHERE parts.path = items.queue || '/' || items.id AND requests.is_claim) AS claimed_by,
       strftime('%Y-%m-%d %H:%M:%f', items.sequence / 1e6, 'unixepoch') AS since,
       strftime('%Y-%m-%d %H:%M:%f', nullif(items.due_unix_us, 0) / 1e6, 'unixepoch') AS due,
       items.needs,
       item_values.bytes AS value
FROM items
LEFT JOIN item_values ON item_values.item = items.number
ORDER BY items.queue, items.sequence;
