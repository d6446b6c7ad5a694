-- SPDX-License-Identifier: Apache-2.0
-- From format 5 to format 6: lines in their order (R7). Frozen: later formats have later steps.

-- R7: the ticket of a waiting request; 0: it is held.
ALTER TABLE parts ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
UPDATE parts SET turn = (SELECT ticket FROM requests WHERE id = request)
WHERE request IN (SELECT id FROM requests WHERE state = 'waiting');

DROP INDEX parts_by_path;
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
