-- SPDX-License-Identifier: Apache-2.0
-- The tables of a Lockkeeper store in SQLite, format 6. (format_N.sql leads from N - 1 to N.)
--
-- People can read it too:  sqlite3 FILE 'SELECT * FROM lk_locks'  (lk_items, lk_events)
-- Written by liblockkeeper only: every row is the outcome of a rule (docs/rules.md), and a hand
-- that changes one breaks what an owner was promised.
--
-- Two kinds of time. `..._us` is the machine's boot-time clock, which cannot be stepped and which
-- counts suspended time; it decides. `..._unix_us` is the wall clock; it is for people, and for
-- what must outlive the machine's restart.

-- "LKpr": tells a Lockkeeper store from every other SQLite file.
PRAGMA application_id = 1280012402;

-- One row about the store itself.
CREATE TABLE meta (
    only_row       INTEGER PRIMARY KEY CHECK (only_row = 1),
    format         INTEGER NOT NULL, -- of these tables
    writable_from  INTEGER NOT NULL, -- the oldest format whose programs may still write here
    boot_id        TEXT    NOT NULL, -- of the boot whose clock the `_us` columns are on
    draw_floor     INTEGER NOT NULL, -- R4: no draw of a forgotten root was greater
    sweep_root     TEXT    NOT NULL, -- where the search for unused roots continues
    live_max             INTEGER NOT NULL DEFAULT 0, -- R22; 0: unbounded
    live_per_owner_max   INTEGER NOT NULL DEFAULT 0,
    live_per_root_max    INTEGER NOT NULL DEFAULT 0,
    waiters_per_path_max INTEGER NOT NULL DEFAULT 0,
    served         TEXT    NOT NULL DEFAULT '', -- address of the service that keeps this file
    events_max       INTEGER NOT NULL DEFAULT 0, -- R21: kept at all times; 0: only while watched
    watched_until_us INTEGER NOT NULL DEFAULT 0, -- R21: the store is watched until then
    last_event       INTEGER NOT NULL DEFAULT 0  -- R21: the last number drawn
);

-- Every live request: leases and waiting requests.
CREATE TABLE requests (
    id              INTEGER PRIMARY KEY,
    owner           TEXT    NOT NULL,
    note            TEXT    NOT NULL,
    state           TEXT    NOT NULL CHECK (state IN ('waiting', 'held')),
    revoked         INTEGER NOT NULL, -- R12: broken; held to its deadline, not renewable
    attended        INTEGER NOT NULL, -- R10: a call was blocked on it at the last ask
    fixed           INTEGER NOT NULL, -- R11: the deadline came from `until`
    graced          INTEGER NOT NULL, -- R11: lives on since a restart, not renewed since
    ticket          INTEGER NOT NULL, -- R4
    token           INTEGER NOT NULL, -- R4; 0 while waiting
    ttl_ms          INTEGER NOT NULL,
    deadline_us     INTEGER NOT NULL,
    expires_unix_us INTEGER NOT NULL, -- the deadline, as the wall clock was when it was set
    wants_value     INTEGER NOT NULL DEFAULT 0, -- R15: the value is in doubt when it perishes
    is_claim        INTEGER NOT NULL DEFAULT 0, -- R16: of the item at its first path
    ask_number      INTEGER NOT NULL DEFAULT 0, -- R3, of a claim; 0: none
    max_attempts    INTEGER NOT NULL DEFAULT 0, -- R16, of a claim; 0: no maximum
    bound           INTEGER NOT NULL DEFAULT 0  -- R18: it ends with a connection to the service
);
CREATE INDEX requests_by_deadline ON requests (deadline_us);
CREATE INDEX requests_waiting_by_owner ON requests (owner) WHERE state = 'waiting';
CREATE INDEX requests_claims_by_ask ON requests (owner, ask_number) WHERE ask_number <> 0;

-- The paths of each request, in the order in which they were asked for.
CREATE TABLE parts (
    request    INTEGER NOT NULL REFERENCES requests (id),
    position   INTEGER NOT NULL,
    path       TEXT    NOT NULL,
    mode       TEXT    NOT NULL CHECK (mode IN ('exclusive', 'shared')),
    unit_limit INTEGER NOT NULL, -- R2 limit; 0: none
    units      INTEGER NOT NULL,
    turn       INTEGER NOT NULL DEFAULT 0, -- R7: the ticket of a waiting request; 0: it is held
    PRIMARY KEY (request, position)
) WITHOUT ROWID;
CREATE INDEX parts_by_path ON parts (path, turn);
CREATE INDEX parts_waiting ON parts (path, turn) WHERE turn <> 0;

-- The turns follow the requests, whatever program writes them.
CREATE TRIGGER parts_came AFTER INSERT ON parts
WHEN EXISTS (SELECT 1 FROM requests WHERE id = NEW.request AND state = 'waiting')
BEGIN
    UPDATE parts SET turn = (SELECT ticket FROM requests WHERE id = NEW.request)
    WHERE request = NEW.request AND position = NEW.position;
END;
CREATE TRIGGER requests_turned AFTER UPDATE OF state, ticket ON requests
WHEN NEW.state <> OLD.state OR NEW.ticket <> OLD.ticket
BEGIN
    UPDATE parts SET turn = CASE NEW.state WHEN 'waiting' THEN NEW.ticket ELSE 0 END
    WHERE request = NEW.id;
END;

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

-- R17: rows of a table that are done and still fit its query: they are not announced again.
CREATE TABLE done_rows (
    number INTEGER PRIMARY KEY,
    queue  TEXT NOT NULL,
    id     TEXT NOT NULL, -- as in paths
    UNIQUE (queue, id)
);

-- R4: the last ticket or token drawn in each root.
CREATE TABLE roots (
    root      TEXT PRIMARY KEY,
    last_draw INTEGER NOT NULL
) WITHOUT ROWID;

-- R3: tokens that a release has ended, for a caller that lost the answer; kept five minutes.
CREATE TABLE ended (
    token    INTEGER NOT NULL,
    owner    TEXT    NOT NULL,
    paths    TEXT    NOT NULL, -- in byte order, with a space between
    ended_us INTEGER NOT NULL,
    PRIMARY KEY (token, owner, paths)
) WITHOUT ROWID;

-- R12: what administrators have broken, and why.
CREATE TABLE audit (
    id         INTEGER PRIMARY KEY,
    at_unix_us INTEGER NOT NULL,
    broken_by  TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    path       TEXT    NOT NULL,
    owner      TEXT    NOT NULL,
    note       TEXT    NOT NULL,
    ticket     INTEGER NOT NULL,
    token      INTEGER NOT NULL,
    held       INTEGER NOT NULL
);

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

-- Holders and waiters, since when and for how long. Times are UTC. A row past its deadline is shown
-- as expired until a later transaction removes it; it excludes no other request.
CREATE VIEW lk_locks AS
SELECT parts.path,
       CASE WHEN requests.expires_unix_us
                 <= (julianday('now') - julianday('1970-01-01')) * 86400e6 THEN 'expired'
            WHEN requests.revoked THEN 'revoked'
            ELSE requests.state END AS state,
       parts.mode,
       nullif(parts.unit_limit, 0) AS unit_limit,
       nullif(parts.units, 0) AS units,
       requests.owner,
       requests.note,
       strftime('%Y-%m-%d %H:%M:%f', requests.ticket / 1e6, 'unixepoch') AS since,
       strftime('%Y-%m-%d %H:%M:%f', requests.expires_unix_us / 1e6, 'unixepoch') AS expires,
       requests.ticket,
       nullif(requests.token, 0) AS token,
       requests.id AS request
FROM parts
JOIN requests ON requests.id = parts.request
ORDER BY parts.path, requests.state, requests.ticket;

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

-- The events, for people. Times are UTC.
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
