-- SPDX-License-Identifier: Apache-2.0
-- The tables of a Lockkeeper store in SQLite, format 1. In each format there is a row of lk_meta with
-- `format` and `writable_from`: by them a program knows what it may touch.
--
-- People can read it too:  sqlite3 FILE 'SELECT * FROM lk_locks'  (lk_items, lk_events)
-- All names begin with lk_, so that the store can be in a database with tables of its owner's
-- (`?share=yes`). A table has the name of one row, a view for people that of several.
-- Written by liblockkeeper only: every row is the outcome of a rule (docs/rules.md), and a hand
-- that changes one breaks what an owner was promised.
--
-- Two kinds of time. `..._us` is the machine's boot-time clock, which cannot be stepped and which
-- counts suspended time; it decides. `..._unix_us` is the wall clock; it is for people, and for
-- what must outlive the machine's restart.

-- "LKpr": tells a Lockkeeper store from every other SQLite file.
PRAGMA application_id = 1280012402;

-- One row about the store itself.
CREATE TABLE lk_meta (
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
CREATE TABLE lk_request (
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
    wants_value     INTEGER NOT NULL DEFAULT 0, -- R15: its values are in doubt when it perishes
    is_claim        INTEGER NOT NULL DEFAULT 0, -- R16: of the item at its first path
    ask_number      INTEGER NOT NULL DEFAULT 0, -- R3, of a claim; 0: none
    max_attempts    INTEGER NOT NULL DEFAULT 0, -- R16, of a claim; 0: no maximum
    bound           INTEGER NOT NULL DEFAULT 0  -- R18: it ends with a connection to the service
);
CREATE INDEX lk_request_by_deadline ON lk_request (deadline_us);
CREATE INDEX lk_request_waiting_by_owner ON lk_request (owner) WHERE state = 'waiting';
CREATE INDEX lk_request_claims_by_ask ON lk_request (owner, ask_number) WHERE ask_number <> 0;

-- The paths of each request, in the order in which they were asked for.
CREATE TABLE lk_part (
    request    INTEGER NOT NULL REFERENCES lk_request (id),
    position   INTEGER NOT NULL,
    path       TEXT    NOT NULL,
    mode       TEXT    NOT NULL CHECK (mode IN ('exclusive', 'shared')),
    unit_limit INTEGER NOT NULL, -- R2 limit; 0: none
    units      INTEGER NOT NULL,
    turn       INTEGER NOT NULL DEFAULT 0, -- R7: the ticket of a waiting request; 0: it is held
    PRIMARY KEY (request, position)
) WITHOUT ROWID;
CREATE INDEX lk_part_by_path ON lk_part (path, turn);
CREATE INDEX lk_part_waiting ON lk_part (path, turn) WHERE turn <> 0;

-- The turns follow the requests, whatever program writes them.
CREATE TRIGGER lk_part_came AFTER INSERT ON lk_part
WHEN EXISTS (SELECT 1 FROM lk_request WHERE id = NEW.request AND state = 'waiting')
BEGIN
    UPDATE lk_part SET turn = (SELECT ticket FROM lk_request WHERE id = NEW.request)
    WHERE request = NEW.request AND position = NEW.position;
END;
CREATE TRIGGER lk_request_turned AFTER UPDATE OF state, ticket ON lk_request
WHEN NEW.state <> OLD.state OR NEW.ticket <> OLD.ticket
BEGIN
    UPDATE lk_part SET turn = CASE NEW.state WHEN 'waiting' THEN NEW.ticket ELSE 0 END
    WHERE request = NEW.id;
END;

-- R15: the value kept at a path.
CREATE TABLE lk_value (
    path     TEXT    PRIMARY KEY,
    in_doubt INTEGER NOT NULL, -- its last holder perished; what it describes may be half done
    bytes    BLOB    NOT NULL
);

-- R16: the queues that have had items, and the counters of each.
CREATE TABLE lk_queue (
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
CREATE TABLE lk_item (
    number      INTEGER PRIMARY KEY,
    queue       TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    sequence    INTEGER NOT NULL, -- in its queue: the smaller, the older
    state       TEXT    NOT NULL CHECK (state IN ('ready', 'delayed', 'claimed', 'parked',
                                                  'cancelled', 'again', 'done')),
    due_us      INTEGER NOT NULL, -- of what is delayed, or claimed and pushed again; of what is done:
                                  -- when it is forgotten
    due_unix_us INTEGER NOT NULL, -- the same, by the wall clock at that time; of what is ready: since
                                  -- when; 0: since it was pushed
    attempts    INTEGER NOT NULL, -- claims so far
    was_lost    INTEGER NOT NULL, -- the last claim perished: the next one is a steal
    is_head    INTEGER NOT NULL DEFAULT 0, -- of its strict needs: no other item with these is claimed
    needs       TEXT    NOT NULL, -- parts that a claim takes along (R2), with a space between
    priority    INTEGER NOT NULL DEFAULT 0, -- the greatest is claimed first
    last_exit   INTEGER, -- of the last retry that told one: the exit code
    last_error  BLOB,    -- ... and its error text
    keep_ms     INTEGER NOT NULL DEFAULT 0, -- for how long, once it is done; 0: not at all
    progress    BLOB,    -- of its last claim
    behind      INTEGER NOT NULL DEFAULT 0, -- ready, and not the first that needs the same; or
                                            -- another one that needs the same is the head
    value_bytes INTEGER, -- how many its value has, so that a lost one is found; NULL: no value
    UNIQUE (queue, id)
);
CREATE INDEX lk_item_by_state ON lk_item (queue, state, behind, priority DESC, sequence,
                                             due_unix_us);
CREATE INDEX lk_item_by_needs ON lk_item (queue, needs, priority DESC, sequence)
    WHERE state = 'ready' AND needs <> '';
CREATE INDEX lk_item_by_due ON lk_item (queue, due_us) WHERE state = 'delayed';
CREATE INDEX lk_item_done ON lk_item (due_us) WHERE state = 'done';
CREATE INDEX lk_item_parked ON lk_item (queue, sequence) WHERE state = 'parked';
CREATE INDEX lk_item_head ON lk_item (queue, needs) WHERE is_head;

-- The strict needs of items, and whether the item is the head of them (R16).
CREATE TABLE lk_strict_need (
    item     INTEGER NOT NULL REFERENCES lk_item (number),
    path     TEXT    NOT NULL,
    queue    TEXT    NOT NULL, -- the item's
    is_head INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (item, path)
) WITHOUT ROWID;
CREATE INDEX lk_strict_need_head ON lk_strict_need (queue, path) WHERE is_head;

-- Of the ready items of a queue that need the same, those behind the first are marked, whatever
-- program writes them; and all but the head.
CREATE TRIGGER lk_item_came AFTER INSERT ON lk_item
WHEN NEW.state = 'ready' AND NEW.needs <> ''
     AND NOT (instr(NEW.needs, '?strict') > 0
              AND EXISTS (SELECT 1 FROM lk_item AS other WHERE other.queue = NEW.queue
                          AND other.needs = NEW.needs AND other.is_head))
BEGIN
    UPDATE lk_item SET behind = 1 WHERE number = NEW.number AND number <>
        (SELECT number FROM lk_item WHERE queue = NEW.queue AND needs = NEW.needs
         AND state = 'ready' AND needs <> '' ORDER BY priority DESC, sequence LIMIT 1);
    UPDATE lk_item SET behind = 1 WHERE NOT behind AND number =
        (SELECT number FROM lk_item WHERE queue = NEW.queue AND needs = NEW.needs
         AND state = 'ready' AND needs <> '' ORDER BY priority DESC, sequence LIMIT 1 OFFSET 1);
END;
CREATE TRIGGER lk_item_ready AFTER UPDATE OF state ON lk_item
WHEN NEW.state = 'ready' AND OLD.state <> 'ready' AND NEW.needs <> ''
     AND NOT (instr(NEW.needs, '?strict') > 0
              AND EXISTS (SELECT 1 FROM lk_item AS other WHERE other.queue = NEW.queue
                          AND other.needs = NEW.needs AND other.is_head))
BEGIN
    UPDATE lk_item SET behind = 1 WHERE number = NEW.number AND number <>
        (SELECT number FROM lk_item WHERE queue = NEW.queue AND needs = NEW.needs
         AND state = 'ready' AND needs <> '' ORDER BY priority DESC, sequence LIMIT 1);
    UPDATE lk_item SET behind = 1 WHERE NOT behind AND number =
        (SELECT number FROM lk_item WHERE queue = NEW.queue AND needs = NEW.needs
         AND state = 'ready' AND needs <> '' ORDER BY priority DESC, sequence LIMIT 1 OFFSET 1);
END;
CREATE TRIGGER lk_item_left AFTER UPDATE OF state ON lk_item
WHEN OLD.state = 'ready' AND NEW.state <> 'ready' AND NEW.needs <> ''
BEGIN
    UPDATE lk_item SET behind = 0 WHERE number = NEW.number AND behind;
    UPDATE lk_item SET behind = 0 WHERE behind AND number =
        (SELECT number FROM lk_item WHERE queue = NEW.queue AND needs = NEW.needs
         AND state = 'ready' AND needs <> '' ORDER BY priority DESC, sequence LIMIT 1)
        AND NOT (instr(NEW.needs, '?strict') > 0
                 AND EXISTS (SELECT 1 FROM lk_item AS other WHERE other.queue = NEW.queue
                             AND other.needs = NEW.needs AND other.is_head));
END;
CREATE TRIGGER lk_item_went AFTER DELETE ON lk_item
WHEN OLD.state = 'ready' AND OLD.needs <> ''
     AND NOT (instr(OLD.needs, '?strict') > 0
              AND EXISTS (SELECT 1 FROM lk_item AS other WHERE other.queue = OLD.queue
                          AND other.needs = OLD.needs AND other.is_head))
BEGIN
    UPDATE lk_item SET behind = 0 WHERE behind AND number =
        (SELECT number FROM lk_item WHERE queue = OLD.queue AND needs = OLD.needs
         AND state = 'ready' AND needs <> '' ORDER BY priority DESC, sequence LIMIT 1);
END;

-- One of them is the head, or becomes it: all others are behind it.
CREATE TRIGGER lk_item_came_late AFTER INSERT ON lk_item
WHEN NEW.state = 'ready' AND NOT NEW.is_head AND instr(NEW.needs, '?strict') > 0
BEGIN
    UPDATE lk_item SET behind = 1 WHERE number = NEW.number
        AND EXISTS (SELECT 1 FROM lk_item AS other WHERE other.queue = NEW.queue
                    AND other.needs = NEW.needs AND other.is_head);
END;
CREATE TRIGGER lk_item_ready_late AFTER UPDATE OF state ON lk_item
WHEN NEW.state = 'ready' AND OLD.state <> 'ready' AND NOT NEW.is_head
     AND instr(NEW.needs, '?strict') > 0
BEGIN
    UPDATE lk_item SET behind = 1 WHERE number = NEW.number
        AND EXISTS (SELECT 1 FROM lk_item AS other WHERE other.queue = NEW.queue
                    AND other.needs = NEW.needs AND other.is_head);
END;
CREATE TRIGGER lk_item_became_head AFTER UPDATE OF is_head ON lk_item
WHEN NEW.is_head AND NOT OLD.is_head
BEGIN
    UPDATE lk_strict_need SET is_head = 1 WHERE item = NEW.number;
    UPDATE lk_item SET behind = 1 WHERE NOT behind AND number =
        (SELECT number FROM lk_item WHERE queue = NEW.queue AND needs = NEW.needs
         AND state = 'ready' AND needs <> '' ORDER BY priority DESC, sequence LIMIT 1);
END;
CREATE TRIGGER lk_item_head_went AFTER DELETE ON lk_item
WHEN instr(OLD.needs, '?strict') > 0
BEGIN
    DELETE FROM lk_strict_need WHERE item = OLD.number;
    UPDATE lk_item SET behind = 0 WHERE OLD.is_head AND behind AND number =
        (SELECT number FROM lk_item WHERE queue = OLD.queue AND needs = OLD.needs
         AND state = 'ready' AND needs <> '' ORDER BY priority DESC, sequence LIMIT 1);
END;

-- The items' values, where they have one; apart, so that a claim does not rewrite them.
CREATE TABLE lk_item_value (
    item  INTEGER PRIMARY KEY REFERENCES lk_item (number),
    bytes BLOB    NOT NULL
);

-- R17: rows of a table that are done and still fit its query: they are not announced again.
CREATE TABLE lk_done_row (
    number INTEGER PRIMARY KEY,
    queue  TEXT NOT NULL,
    id     TEXT NOT NULL, -- as in paths
    UNIQUE (queue, id)
);

-- R4: the last ticket or token drawn in each root.
CREATE TABLE lk_root (
    root      TEXT PRIMARY KEY,
    last_draw INTEGER NOT NULL
) WITHOUT ROWID;

-- R3: tokens that a release has ended, for a caller that lost the answer; kept five minutes.
CREATE TABLE lk_ended (
    token    INTEGER NOT NULL,
    owner    TEXT    NOT NULL,
    paths    TEXT    NOT NULL, -- in byte order, with a space between
    ended_us INTEGER NOT NULL,
    PRIMARY KEY (token, owner, paths)
) WITHOUT ROWID;

-- R12: what administrators have broken, and why.
CREATE TABLE lk_audit (
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
CREATE TABLE lk_event (
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
    is_deletion INTEGER NOT NULL, -- the value is gone
    broken_by   TEXT    NOT NULL DEFAULT '', -- R12: of a break: by whom, and why; else empty
    reason      TEXT    NOT NULL DEFAULT ''
);

-- Holders and waiters, since when and for how long. Times are UTC. A row past its deadline is shown
-- as expired until a later transaction removes it; it excludes no other request.
CREATE VIEW lk_locks AS
SELECT part.path,
       CASE WHEN request.expires_unix_us
                 <= (julianday('now') - julianday('1970-01-01')) * 86400e6 THEN 'expired'
            WHEN request.revoked THEN 'revoked'
            ELSE request.state END AS state,
       part.mode,
       nullif(part.unit_limit, 0) AS unit_limit,
       nullif(part.units, 0) AS units,
       request.owner,
       request.note,
       strftime('%Y-%m-%d %H:%M:%f', request.ticket / 1e6, 'unixepoch') AS since,
       strftime('%Y-%m-%d %H:%M:%f', request.expires_unix_us / 1e6, 'unixepoch') AS expires,
       request.ticket,
       nullif(request.token, 0) AS token,
       request.id AS request
FROM lk_part AS part
JOIN lk_request AS request ON request.id = part.request
ORDER BY part.path, request.state, request.ticket;

-- The items, in the order of arrival. Times are UTC.
CREATE VIEW lk_items AS
SELECT item.queue,
       item.id,
       CASE WHEN item.state = 'delayed'
                 AND item.due_unix_us <= (julianday('now') - julianday('1970-01-01')) * 86400e6
            THEN 'ready' ELSE item.state END AS state,
       item.priority,
       item.attempts,
       (SELECT request.owner
        FROM lk_part AS part
        JOIN lk_request AS request ON request.id = part.request
        WHERE part.path = item.queue || '/' || item.id AND request.is_claim) AS claimed_by,
       strftime('%Y-%m-%d %H:%M:%f', item.sequence / 1e6, 'unixepoch') AS since,
       strftime('%Y-%m-%d %H:%M:%f',
                CASE item.state WHEN 'delayed' THEN item.due_unix_us END / 1e6, 'unixepoch') AS due,
       item.needs,
       item.last_exit,
       CAST(item.last_error AS TEXT) AS last_error,
       value.bytes AS value,
       strftime('%Y-%m-%d %H:%M:%f',
                CASE WHEN item.state = 'ready'
                     THEN ifnull(nullif(item.due_unix_us, 0), item.sequence)
                     WHEN item.state = 'delayed'
                          AND item.due_unix_us <= (julianday('now') - julianday('1970-01-01'))
                                                  * 86400e6
                     THEN item.due_unix_us END / 1e6, 'unixepoch') AS ready_since
FROM lk_item AS item
LEFT JOIN lk_item_value AS value ON value.item = item.number
ORDER BY item.queue, item.sequence;

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
       nullif(attempt, 0) AS attempt,
       nullif(broken_by, '') AS broken_by,
       nullif(reason, '') AS reason
FROM lk_event
ORDER BY sequence;
