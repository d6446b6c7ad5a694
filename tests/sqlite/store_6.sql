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
INSERT INTO meta VALUES(1,6,4,'6ad287d5-d113-4d42-9c53-7c3bac29a30b',0,'',50,20,0,0,'',7,0,15);
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
INSERT INTO requests VALUES(1795447792372875,'A','a note','held',0,1,0,0,1795447792372875,1795447792372875,31622400000,31624057594253,1827070192372875,0,0,0,0,0);
INSERT INTO requests VALUES(1795447792392525,'B','','waiting',0,0,0,0,1795447792392525,0,31622400000,31624057613903,1827070192392525,0,0,0,0,0);
INSERT INTO requests VALUES(1795447792416948,'V','','held',0,1,0,0,1795447792416948,1795447792416948,31622400000,31624057638325,1827070192416948,1,0,0,0,0);
INSERT INTO requests VALUES(1795447792470496,'W','','held',0,0,0,0,1795447792470496,1795447792470496,31622400000,31624057691874,1827070192470496,0,1,6007063187809938399,3,0);
INSERT INTO requests VALUES(1795447792531990,'D','','held',1,1,0,0,1795447792531990,1795447792531990,60000,1717753368,1795447852531990,0,0,0,0,0);
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
INSERT INTO parts VALUES(1795447792372875,0,'x','exclusive',0,0,0);
INSERT INTO parts VALUES(1795447792392525,0,'x','exclusive',0,0,1795447792392525);
INSERT INTO parts VALUES(1795447792392525,1,'z','shared',3,2,1795447792392525);
INSERT INTO parts VALUES(1795447792416948,0,'v','exclusive',0,0,0);
INSERT INTO parts VALUES(1795447792470496,0,'q/1','exclusive',0,0,0);
INSERT INTO parts VALUES(1795447792470496,1,'pool','shared',3,2,0);
INSERT INTO parts VALUES(1795447792531990,0,'d','exclusive',0,0,0);
CREATE TABLE path_values (
    path     TEXT    PRIMARY KEY,
    in_doubt INTEGER NOT NULL, -- its last holder perished; what it describes may be half done
    bytes    BLOB    NOT NULL
);
INSERT INTO path_values VALUES('w',0,X'612076616c7565');
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
INSERT INTO queues VALUES('q',3,1,1,0,0,0,0);
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
INSERT INTO items VALUES(1,'q','1',1795447792430986,'claimed',0,0,1,0,'pool?limit=3&units=2');
INSERT INTO items VALUES(2,'q','2',1795447792439931,'ready',0,0,0,0,'');
INSERT INTO items VALUES(3,'q','3',1795447792460032,'delayed',5257681410,1795451392460032,0,0,'');
CREATE TABLE item_values (
    item  INTEGER PRIMARY KEY REFERENCES items (number),
    bytes BLOB    NOT NULL
);
INSERT INTO item_values VALUES(1,X'776f726b');
CREATE TABLE done_rows (
    number INTEGER PRIMARY KEY,
    queue  TEXT NOT NULL,
    id     TEXT NOT NULL, -- as in paths
    UNIQUE (queue, id)
);
CREATE TABLE roots (
    root      TEXT PRIMARY KEY,
    last_draw INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO roots VALUES('d',1795447792531990);
INSERT INTO roots VALUES('pool',1795447792470496);
INSERT INTO roots VALUES('q',1795447792470496);
INSERT INTO roots VALUES('v',1795447792416948);
INSERT INTO roots VALUES('w',1795447792403557);
INSERT INTO roots VALUES('x',1795447792392525);
INSERT INTO roots VALUES('y',1795447792490838);
INSERT INTO roots VALUES('z',1795447792392525);
CREATE TABLE ended (
    token    INTEGER NOT NULL,
    owner    TEXT    NOT NULL,
    paths    TEXT    NOT NULL, -- in byte order, with a space between
    ended_us INTEGER NOT NULL,
    PRIMARY KEY (token, owner, paths)
) WITHOUT ROWID;
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
INSERT INTO audit VALUES(1,1795447810679965,'root','for a test','d','D','',1795447792531990,1795447792531990,1);
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
INSERT INTO events VALUES(9,1795447792439931,'pushed','','q/2','','',0,0,0,1,0);
INSERT INTO events VALUES(10,1795447792460032,'pushed','','q/3','','',0,0,0,1,0);
INSERT INTO events VALUES(11,1795447792470496,'claimed','','q/1 pool?limit=3&units=2','W','',1795447792470496,1795447792470496,1,1,0);
INSERT INTO events VALUES(12,1795447792490838,'granted','','y','C','',1795447792490838,1795447792490838,0,0,0);
INSERT INTO events VALUES(13,1795447792506576,'released','','y','C','',1795447792490838,1795447792490838,0,0,0);
INSERT INTO events VALUES(14,1795447792531990,'granted','','d','D','',1795447792531990,1795447792531990,0,0,0);
INSERT INTO events VALUES(15,1795447810679965,'broken','','d','D','',1795447792531990,1795447792531990,0,0,0);
CREATE TABLE lk_request_count (requests INTEGER NOT NULL);
INSERT INTO lk_request_count VALUES(5);
CREATE INDEX requests_by_deadline ON requests (deadline_us);
CREATE INDEX requests_waiting_by_owner ON requests (owner) WHERE state = 'waiting';
CREATE INDEX requests_claims_by_ask ON requests (owner, ask_number) WHERE ask_number <> 0;
CREATE INDEX parts_by_path ON parts (path, turn);
CREATE INDEX parts_waiting ON parts (path, turn) WHERE turn <> 0;
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
CREATE TRIGGER lk_request_came AFTER INSERT ON requests BEGIN UPDATE lk_request_count SET requests = requests + 1; END;
CREATE TRIGGER lk_request_went AFTER DELETE ON requests BEGIN UPDATE lk_request_count SET requests = requests - 1; END;
CREATE INDEX requests_by_owner ON requests (owner, deadline_us);
COMMIT;
