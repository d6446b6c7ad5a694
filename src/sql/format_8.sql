-- SPDX-License-Identifier: Apache-2.0
-- From format 7 to format 8: ready items that need the same are a group, of which a claim reads the
-- first (R16); an item has the size of its value, so that a lost value is found. Frozen: later
-- formats have later steps.

ALTER TABLE lk_item ADD COLUMN behind INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lk_item ADD COLUMN value_bytes INTEGER;
UPDATE lk_item SET value_bytes =
    (SELECT length(bytes) FROM lk_item_value WHERE item = lk_item.number);

DROP INDEX lk_item_by_state;
CREATE INDEX lk_item_by_state ON lk_item (queue, state, behind, priority DESC, sequence);
CREATE INDEX lk_item_by_needs ON lk_item (queue, needs, priority DESC, sequence)
    WHERE state = 'ready' AND needs <> '';

UPDATE lk_item SET behind = 1 WHERE state = 'ready' AND needs <> '' AND number <>
    (SELECT first.number FROM lk_item AS first
     WHERE first.queue = lk_item.queue AND first.needs = lk_item.needs
     AND first.state = 'ready' AND first.needs <> ''
     ORDER BY first.priority DESC, first.sequence LIMIT 1);

-- Of the ready items of a queue that need the same, those behind the first are marked, whatever
-- program writes them.
CREATE TRIGGER lk_item_came AFTER INSERT ON lk_item
WHEN NEW.state = 'ready' AND NEW.needs <> ''
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
         AND state = 'ready' AND needs <> '' ORDER BY priority DESC, sequence LIMIT 1);
END;
CREATE TRIGGER lk_item_went AFTER DELETE ON lk_item
WHEN OLD.state = 'ready' AND OLD.needs <> ''
BEGIN
    UPDATE lk_item SET behind = 0 WHERE behind AND number =
        (SELECT number FROM lk_item WHERE queue = OLD.queue AND needs = OLD.needs
         AND state = 'ready' AND needs <> '' ORDER BY priority DESC, sequence LIMIT 1);
END;
