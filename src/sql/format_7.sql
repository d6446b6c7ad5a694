-- SPDX-License-Identifier: Apache-2.0
-- From format 6 to format 7: names that begin with lk_; priorities and causes of failure of items
-- (R16); who broke a request, and why, in its event (R21). Frozen: later formats have later steps.

-- The tables first: SQLite renames them in views and triggers of the owner's as well.
ALTER TABLE meta RENAME TO lk_meta;
ALTER TABLE requests RENAME TO lk_request;
ALTER TABLE parts RENAME TO lk_part;
ALTER TABLE path_values RENAME TO lk_value;
ALTER TABLE queues RENAME TO lk_queue;
ALTER TABLE items RENAME TO lk_item;
ALTER TABLE item_values RENAME TO lk_item_value;
ALTER TABLE done_rows RENAME TO lk_done_row;
ALTER TABLE roots RENAME TO lk_root;
ALTER TABLE ended RENAME TO lk_ended;
ALTER TABLE audit RENAME TO lk_audit;
ALTER TABLE events RENAME TO lk_event;

ALTER TABLE lk_item ADD COLUMN priority   INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lk_item ADD COLUMN last_exit  INTEGER;
ALTER TABLE lk_item ADD COLUMN last_error BLOB;
ALTER TABLE lk_event ADD COLUMN broken_by TEXT NOT NULL DEFAULT '';
ALTER TABLE lk_event ADD COLUMN reason    TEXT NOT NULL DEFAULT '';

UPDATE lk_meta SET writable_from = 7;

DROP INDEX requests_by_deadline;
DROP INDEX requests_waiting_by_owner;
DROP INDEX requests_claims_by_ask;
DROP INDEX parts_by_path;
DROP INDEX parts_waiting;
DROP INDEX items_by_state;
DROP INDEX items_by_due;
CREATE INDEX lk_request_by_deadline ON lk_request (deadline_us);
CREATE INDEX lk_request_waiting_by_owner ON lk_request (owner) WHERE state = 'waiting';
CREATE INDEX lk_request_claims_by_ask ON lk_request (owner, ask_number) WHERE ask_number <> 0;
CREATE INDEX lk_part_by_path ON lk_part (path, turn);
CREATE INDEX lk_part_waiting ON lk_part (path, turn) WHERE turn <> 0;
CREATE INDEX lk_item_by_state ON lk_item (queue, state, priority DESC, sequence);
CREATE INDEX lk_item_by_due ON lk_item (queue, due_us) WHERE state = 'delayed';
CREATE INDEX lk_item_parked ON lk_item (queue, sequence) WHERE state = 'parked';

-- Made again where a bound needs them (R22).
DROP INDEX IF EXISTS requests_by_owner;
DROP TRIGGER IF EXISTS lk_request_came;
DROP TRIGGER IF EXISTS lk_request_went;
DROP TABLE IF EXISTS lk_request_count;

DROP TRIGGER parts_came;
DROP TRIGGER requests_turned;

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

DROP VIEW lk_locks;
DROP VIEW lk_items;
DROP VIEW lk_events;

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
       strftime('%Y-%m-%d %H:%M:%f', nullif(item.due_unix_us, 0) / 1e6, 'unixepoch') AS due,
       item.needs,
       item.last_exit,
       CAST(item.last_error AS TEXT) AS last_error,
       value.bytes AS value
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
