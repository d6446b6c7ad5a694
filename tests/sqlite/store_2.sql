-- SPDX-License-Identifier: Apache-2.0
-- What a program of that format left behind: the .dump of sqlite3, and the mark of the file.
PRAGMA application_id = 1280012402;
BEGIN TRANSACTION;
CREATE TABLE meta (
    only_row       INTEGER PRIMARY KEY CHECK (only_row = 1),
    format         INTEGER NOT NULL, -- of these tables
    writable_from  INTEGER NOT NULL, -- the oldest format whose programs may still write here
    boot_id        TEXT    NOT NULL, -- of the boot whose clock the `_us` columns are on
    draw_floor     INTEGER NOT NULL, -- R4: no draw of a forgotten root was greater
    sweep_root     TEXT    NOT NULL, -- where the search for unused roots goes on
    live_max             INTEGER NOT NULL DEFAULT 0, -- R22; 0: unbounded
    live_per_owner_max   INTEGER NOT NULL DEFAULT 0,
    live_per_root_max    INTEGER NOT NULL DEFAULT 0,
    waiters_per_path_max INTEGER NOT NULL DEFAULT 0
);
INSERT INTO meta VALUES(1,2,2,'61e2f691-0f5b-4322-9ff1-a5d8c03c9b98',0,'',0,0,0,0);
CREATE TABLE requests (
    id              INTEGER PRIMARY KEY,
    owner           TEXT    NOT NULL,
    note            TEXT    NOT NULL,
    state           TEXT    NOT NULL CHECK (state IN ('waiting', 'held')),
    revoked         INTEGER NOT NULL, -- R12: broken; held to its deadline, not renewable
    attended        INTEGER NOT NULL, -- R10: somebody was blocked on it when it last asked
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
    max_attempts    INTEGER NOT NULL DEFAULT 0  -- R16, of a claim; 0: no maximum
);
INSERT INTO requests VALUES(1795261880501965,'A','a note','held',0,1,0,0,1795261880501965,1795261880501965,31622400000,31651987928476,1826884280501965,0,0,0,0);
INSERT INTO requests VALUES(1795261880593808,'B','','waiting',0,0,0,0,1795261880593808,0,31622400000,31651988020319,1826884280593808,0,0,0,0);
INSERT INTO requests VALUES(1795261880715622,'V','','held',0,1,0,0,1795261880715622,1795261880715622,31622400000,31651988142134,1826884280715622,1,0,0,0);
INSERT INTO requests VALUES(1795261881092594,'W','','held',0,0,0,0,1795261881092594,1795261881092594,31622400000,31651988519105,1826884281092594,0,1,7108123091249535862,3);
CREATE TABLE parts (
    request    INTEGER NOT NULL REFERENCES requests (id),
    position   INTEGER NOT NULL,
    path       TEXT    NOT NULL,
    mode       TEXT    NOT NULL CHECK (mode IN ('exclusive', 'shared')),
    unit_limit INTEGER NOT NULL, -- R2 limit; 0: none
    units      INTEGER NOT NULL,
    PRIMARY KEY (request, position)
) WITHOUT ROWID;
INSERT INTO parts VALUES(1795261880501965,0,'x','exclusive',0,0);
INSERT INTO parts VALUES(1795261880593808,0,'x','exclusive',0,0);
INSERT INTO parts VALUES(1795261880593808,1,'z','shared',3,2);
INSERT INTO parts VALUES(1795261880715622,0,'v','exclusive',0,0);
INSERT INTO parts VALUES(1795261881092594,0,'q/1','exclusive',0,0);
INSERT INTO parts VALUES(1795261881092594,1,'pool','shared',3,2);
CREATE TABLE path_values (
    path     TEXT    PRIMARY KEY,
    in_doubt INTEGER NOT NULL, -- its last holder perished; what it describes may be half done
    bytes    BLOB    NOT NULL
);
INSERT INTO path_values VALUES('w',0,X'612076616c7565');
CREATE TABLE queues (
    path       TEXT PRIMARY KEY,
    pushed     INTEGER NOT NULL,
    duplicates INTEGER NOT NULL, -- pushes of what was there
    claims     INTEGER NOT NULL,
    steals     INTEGER NOT NULL, -- claims of items whose former claim had perished
    done       INTEGER NOT NULL,
    retried    INTEGER NOT NULL,
    parked     INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO queues VALUES('q',3,1,1,0,0,0,0);
CREATE TABLE items (
    number      INTEGER PRIMARY KEY,
    queue       TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    sequence    INTEGER NOT NULL, -- in its queue: the smaller, the older
    state       TEXT    NOT NULL CHECK (state IN ('ready', 'delayed', 'claimed', 'parked')),
    due_us      INTEGER NOT NULL, -- of what is delayed
    due_unix_us INTEGER NOT NULL, -- the same, as the wall clock was then
    attempts    INTEGER NOT NULL, -- claims so far
    was_lost    INTEGER NOT NULL, -- the last claim perished: the next one is a steal
    needs       TEXT    NOT NULL, -- parts that a claim takes along (R2), with a space between
    UNIQUE (queue, id)
);
INSERT INTO items VALUES(1,'q','1',1795261880843802,'claimed',0,0,1,0,'pool?limit=3&units=2');
INSERT INTO items VALUES(2,'q','2',1795261880912065,'ready',0,0,0,0,'');
INSERT INTO items VALUES(3,'q','3',1795261881020145,'delayed',33188446656,1795265481020145,0,0,'');
CREATE TABLE item_values (
    item  INTEGER PRIMARY KEY REFERENCES items (number),
    bytes BLOB    NOT NULL
);
INSERT INTO item_values VALUES(1,X'776f726b');
CREATE TABLE roots (
    root      TEXT PRIMARY KEY,
    last_draw INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO roots VALUES('d',1795261881520103);
INSERT INTO roots VALUES('pool',1795261881092594);
INSERT INTO roots VALUES('q',1795261881092594);
INSERT INTO roots VALUES('v',1795261880715622);
INSERT INTO roots VALUES('x',1795261880593808);
INSERT INTO roots VALUES('y',1795261881165957);
INSERT INTO roots VALUES('z',1795261880593808);
CREATE TABLE ended (
    token    INTEGER NOT NULL,
    owner    TEXT    NOT NULL,
    paths    TEXT    NOT NULL, -- in byte order, with a space between
    ended_us INTEGER NOT NULL,
    PRIMARY KEY (token, owner, paths)
) WITHOUT ROWID;
INSERT INTO ended VALUES(1795261881165957,'C','y',29588858330);
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
INSERT INTO audit VALUES(1,1795261881644101,'root','for a test','d','D','',1795261881520103,1795261881520103,1);
CREATE INDEX requests_by_deadline ON requests (deadline_us);
CREATE INDEX requests_waiting_by_owner ON requests (owner) WHERE state = 'waiting';
CREATE INDEX requests_claims_by_ask ON requests (owner, ask_number) WHERE ask_number <> 0;
CREATE INDEX parts_by_path ON parts (path);
CREATE INDEX items_by_state ON items (queue, state, sequence);
CREATE INDEX items_by_due ON items (queue, due_us) WHERE state = 'delayed';
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
COMMIT;
