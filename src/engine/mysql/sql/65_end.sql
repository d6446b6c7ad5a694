-- SPDX-License-Identifier: Apache-2.0
-- Renewals, ends by the owner or an administrator (R11, R12), and values (R15).

DELIMITER //

-- R16: the claim that a renewal names by its item's path, or by all of its paths; NULL: none.
DROP PROCEDURE IF EXISTS lk_find_claim
//
CREATE PROCEDURE lk_find_claim(
    IN asker VARBINARY(128), IN sorted_paths BLOB, IN the_token BIGINT,
    IN now_us BIGINT, OUT self BIGINT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    SET SESSION group_concat_max_len = 4194304;
    SELECT STRAIGHT_JOIN r.id INTO self
    FROM lk_numbers AS n JOIN lk_requests AS r FORCE INDEX (requests_by_path)
    WHERE n.n <= 1 + LENGTH(sorted_paths) - LENGTH(REPLACE(sorted_paths, ' ', ''))
      AND r.path = SUBSTRING_INDEX(SUBSTRING_INDEX(sorted_paths, ' ', n.n), ' ', -1)
      AND r.part = 1 AND r.is_claim AND r.owner = asker AND r.deadline_us > now_us
      AND (the_token = 0 OR r.token = the_token)
      AND (r.path = sorted_paths
           OR sorted_paths = (SELECT GROUP_CONCAT(q.path ORDER BY q.path SEPARATOR ' ')
                              FROM lk_requests AS q WHERE q.id = r.id))
    LIMIT 1;
END
//

DROP PROCEDURE IF EXISTS lk_decide_renew
//
CREATE PROCEDURE lk_decide_renew(
    IN the_identity BINARY(32), IN asker VARBINARY(128), IN sorted_paths BLOB,
    IN the_roots BLOB, IN the_token BIGINT, IN the_ttl_ms BIGINT,
    OUT outcome VARCHAR(16) CHARACTER SET utf8mb4, OUT sentence VARCHAR(255) CHARACTER SET utf8mb4,
    OUT its_ticket BIGINT, OUT its_token BIGINT, OUT its_ttl_ms BIGINT, OUT left_us BIGINT,
    OUT is_fixed BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
renew: BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE now_us BIGINT;
    DECLARE self BIGINT;
    DECLARE claim BIGINT;
    DECLARE is_held BOOLEAN;
    DECLARE is_revoked BOOLEAN;
    DECLARE its_deadline_us BIGINT;
    DECLARE its_roots BLOB;
    DECLARE its_paths VARBINARY(512);
    DECLARE its_claim BOOLEAN;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    CALL lk_lock_roots(the_roots, locked, now_us, is_due, has_waiting);
    IF is_due AND has_waiting THEN
        CALL lk_perish(locked, has_waiting, now_us, 4);
    END IF;
    SELECT r.id, r.held, r.revoked, r.token INTO self, is_held, is_revoked, its_token
    FROM lk_requests AS r FORCE INDEX (requests_by_owner)
    WHERE r.owner = asker AND r.held IN (0, 1) AND r.identity = the_identity AND r.part = 1
      AND r.deadline_us > now_us;
    IF self IS NULL OR NOT is_held OR is_revoked OR (the_token <> 0 AND its_token <> the_token) THEN
        CALL lk_find_claim(asker, sorted_paths, the_token, now_us, claim);
        SET self = COALESCE(claim, self);
    END IF;
    SELECT r.held, r.revoked, r.token, r.ticket, r.ttl_ms, r.deadline_us, r.fixed, r.roots,
           IF(r.part_count = 1, r.path, ' '), r.is_claim
    INTO is_held, is_revoked, its_token, its_ticket, its_ttl_ms, its_deadline_us, is_fixed,
         its_roots, its_paths, its_claim
    FROM lk_requests AS r WHERE r.id = self AND r.part = 1;
    SET outcome = 'lost', sentence = CASE
        WHEN self IS NULL OR NOT is_held
            THEN 'there is no such lease: it has ended, or was never granted'
        WHEN is_revoked THEN '@LK_TEXT_BROKEN@'
        WHEN the_token <> 0 AND its_token <> the_token
            THEN 'the lease there has another token: this one has ended' END;
    IF sentence IS NOT NULL THEN
        SET its_ticket = NULL, its_token = NULL, its_ttl_ms = NULL, is_fixed = NULL;
        LEAVE renew;
    END IF;
    IF NOT is_fixed THEN
        SET its_ttl_ms = IF(the_ttl_ms > 0, the_ttl_ms, its_ttl_ms);
        SET its_deadline_us = now_us + its_ttl_ms * 1000;
        UPDATE lk_requests AS r FORCE INDEX (PRIMARY)
        SET r.ttl_ms = its_ttl_ms, r.deadline_us = its_deadline_us
        WHERE r.id = self;
        CALL lk_record_deadline(its_roots, its_deadline_us, its_deadline_us, its_paths, its_claim);
        CALL lk_mark_roots(its_roots);
    END IF;
    SET outcome = 'ok', left_us = its_deadline_us - now_us;
END
//

-- R15: what is dead and has asked for the values of these paths perishes, before one of them is read
-- or written: it may have left them in doubt.
DROP PROCEDURE IF EXISTS lk_lose_writers
//
CREATE PROCEDURE lk_lose_writers(
    IN the_paths BLOB, IN now_us BIGINT, INOUT locked BLOB,
    INOUT has_waiting BOOLEAN)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE left_paths INT DEFAULT 1 + LENGTH(the_paths) - LENGTH(REPLACE(the_paths, ' ', ''));
    DECLARE the_path VARBINARY(512) DEFAULT SUBSTRING_INDEX(the_paths, ' ', 1);
    DECLARE lost BIGINT DEFAULT 0;
    DECLARE its_deadline_us BIGINT DEFAULT 0;
    DECLARE its_roots BLOB;
    DECLARE has_all BOOLEAN;
    DECLARE released BLOB;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET lost = NULL;
    WHILE left_paths > 0 DO
        SELECT r.id, r.deadline_us, r.roots INTO lost, its_deadline_us, its_roots
        FROM lk_requests AS r FORCE INDEX (requests_by_path)
        WHERE r.path = the_path AND r.deadline_us <= now_us AND r.wants_value
          AND (r.deadline_us > its_deadline_us
               OR (r.deadline_us = its_deadline_us AND r.id > lost))
        ORDER BY r.deadline_us, r.id LIMIT 1;
        IF lost IS NULL THEN
            SET left_paths = left_paths - 1, lost = 0, its_deadline_us = 0,
                the_path = SUBSTRING_INDEX(SUBSTRING_INDEX(the_paths, ' ', -left_paths), ' ', 1);
        ELSE
            CALL lk_lock_more_roots(its_roots, locked, has_waiting, has_all);
            IF has_all THEN
                CALL lk_remove_request(lost, 'perished', released);
                CALL lk_grant_waiters(locked, has_waiting, released, NULL, its_deadline_us);
            END IF;
        END IF;
    END WHILE;
END
//

-- Release or withdraw. R15: `put_bytes` are the values of `put_paths`, one behind the other; NULL:
-- none.
DROP PROCEDURE IF EXISTS lk_decide_release
//
CREATE PROCEDURE lk_decide_release(
    IN the_identity BINARY(32), IN asker VARBINARY(128), IN put_paths BLOB,
    IN the_roots BLOB, IN the_token BIGINT, IN put_sizes VARBINARY(255),
    IN put_bytes MEDIUMBLOB, OUT outcome VARCHAR(16) CHARACTER SET utf8mb4,
    OUT sentence VARCHAR(255) CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
release_it: BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE now_us BIGINT;
    DECLARE self BIGINT;
    DECLARE is_held BOOLEAN;
    DECLARE puts INT DEFAULT 1 + LENGTH(put_paths) - LENGTH(REPLACE(put_paths, ' ', ''));
    DECLARE writable INT;
    DECLARE i INT DEFAULT 1;
    DECLARE at INT DEFAULT 1; -- where the next value begins
    DECLARE size INT;
    DECLARE the_path VARBINARY(512);
    DECLARE the_value MEDIUMBLOB;
    DECLARE has_ended BOOLEAN;
    DECLARE its_token BIGINT;
    DECLARE released BLOB;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    CALL lk_lock_roots(the_roots, locked, now_us, is_due, has_waiting);
    IF is_due THEN
        CALL lk_perish(locked, has_waiting, now_us, 4);
    END IF;
    SELECT r.id, r.held, r.token INTO self, is_held, its_token
    FROM lk_requests AS r FORCE INDEX (requests_by_owner)
    WHERE r.owner = asker AND r.held IN (0, 1) AND r.identity = the_identity AND r.part = 1
      AND r.deadline_us > now_us;
    IF self IS NULL OR (the_token <> 0 AND NOT (is_held AND its_token = the_token)) THEN
        SELECT COUNT(*) INTO has_ended FROM lk_ended AS e
        WHERE e.token = the_token AND e.identity = the_identity
          AND e.ended_us > now_us - @LK_ENDED_MEMORY_US@;
        IF has_ended THEN
            SET outcome = 'ok'; -- R3: the reply was lost, not the release
        ELSE
            SET outcome = 'lost', sentence = IF(self IS NULL,
                'there is no such request: it has ended, or never was',
                'the request there has another token: this one has ended');
        END IF;
        LEAVE release_it;
    END IF;
    IF put_bytes IS NOT NULL THEN
        SELECT COUNT(*) INTO writable FROM lk_requests AS r
        WHERE r.id = self AND r.units = 0
          AND LOCATE(CONCAT(' ', r.path, ' '), CONCAT(' ', put_paths, ' ')) > 0;
        IF NOT is_held OR writable < puts THEN
            SET outcome = 'lost',
                sentence = '@LK_TEXT_PUT_NEEDS_LEASE@';
            LEAVE release_it;
        END IF;
        IF is_due THEN
            CALL lk_lose_writers(put_paths, now_us, locked, has_waiting);
        END IF;
        CALL lk_mark_roots(the_roots);
        WHILE i <= puts DO
            SET the_path = SUBSTRING_INDEX(SUBSTRING_INDEX(put_paths, ' ', i), ' ', -1),
                size = SUBSTRING_INDEX(SUBSTRING_INDEX(put_sizes, ' ', i), ' ', -1);
            SET the_value = SUBSTRING(put_bytes, at, size);
            INSERT INTO lk_values (path, in_doubt, bytes) VALUES (the_path, FALSE, the_value)
            ON DUPLICATE KEY UPDATE in_doubt = FALSE, bytes = the_value;
            IF @lk_tells THEN
                CALL lk_tell('value_written', the_path, asker, '', 0, 0, 0, FALSE, '', FALSE);
            END IF;
            SET at = at + size, i = i + 1;
        END WHILE;
    END IF;
    IF the_token <> 0 THEN
        INSERT INTO lk_ended (token, identity, ended_us) VALUES (the_token, the_identity, now_us)
        ON DUPLICATE KEY UPDATE ended_us = now_us;
    END IF;
    CALL lk_remove_request(self, IF(is_held, 'released', 'withdrawn'), released);
    CALL lk_grant_waiters(locked, has_waiting, released, NULL, now_us);
    SET outcome = 'ok';
END
//

-- R12: all requests with a part at exactly the path; of `the_owner`, unless it is empty. Locks all
-- of their roots, as far as they are known before they are locked.
DROP PROCEDURE IF EXISTS lk_decide_break
//
CREATE PROCEDURE lk_decide_break(
    IN the_path VARBINARY(512), IN the_root VARBINARY(255), IN the_owner VARBINARY(128),
    IN at_once BOOLEAN, IN broken_by VARBINARY(1024), IN why VARBINARY(1024), OUT broken BIGINT)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE now_us BIGINT;
    DECLARE all_roots BLOB;
    DECLARE its_roots BLOB;
    DECLARE self BIGINT DEFAULT 0;
    DECLARE its_owner VARBINARY(128);
    DECLARE its_note VARBINARY(255);
    DECLARE its_ticket BIGINT DEFAULT -1;
    DECLARE its_token BIGINT;
    DECLARE is_held BOOLEAN;
    DECLARE is_revoked BOOLEAN;
    DECLARE has_all BOOLEAN;
    DECLARE its_paths BLOB;
    DECLARE released MEDIUMBLOB DEFAULT the_path;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET self = NULL;
    SET broken = 0, @lk_broken_by = broken_by, @lk_reason = why; -- for the events
    SET SESSION group_concat_max_len = 4194304;
    SELECT GROUP_CONCAT(DISTINCT x.root ORDER BY x.root SEPARATOR ' ') INTO all_roots
    FROM (SELECT the_root AS root
          UNION ALL
          SELECT SUBSTRING_INDEX(SUBSTRING_INDEX(r.roots, ' ', n.n), ' ', -1)
          FROM lk_requests AS r
          JOIN lk_numbers AS n ON n.n <= 1 + LENGTH(r.roots) - LENGTH(REPLACE(r.roots, ' ', ''))
          WHERE r.path = the_path AND r.roots <> r.root LIMIT 256) AS x;
    CALL lk_lock_roots(all_roots, locked, now_us, is_due, has_waiting);
    IF is_due THEN
        CALL lk_perish(locked, has_waiting, now_us, 256);
    END IF;
    WHILE self IS NOT NULL DO
        -- The first behind the last one, in the order of the index: a line may be long. What one call
        -- has claimed has one ticket (R17), and may need the same path: among these, by request.
        SELECT r.id, r.owner, r.note, r.ticket, r.token, r.held, r.revoked, r.roots
        INTO self, its_owner, its_note, its_ticket, its_token, is_held, is_revoked, its_roots
        FROM ((SELECT h.id, h.owner, h.note, h.ticket, h.token, h.held, h.revoked, h.roots
               FROM lk_requests AS h FORCE INDEX (requests_by_path)
               WHERE h.path = the_path AND h.held = 1 AND h.ticket = its_ticket AND h.id > self
                 AND h.deadline_us > now_us AND (the_owner = '' OR h.owner = the_owner)
               ORDER BY h.id LIMIT 1)
              UNION ALL
              (SELECT h.id, h.owner, h.note, h.ticket, h.token, h.held, h.revoked, h.roots
               FROM lk_requests AS h FORCE INDEX (requests_by_path)
               WHERE h.path = the_path AND h.held = 1
                 AND h.ticket = (SELECT n.ticket
                                 FROM lk_requests AS n FORCE INDEX (requests_by_path)
                                 WHERE n.path = the_path AND n.held = 1 AND n.ticket > its_ticket
                                   AND n.deadline_us > now_us
                                   AND (the_owner = '' OR n.owner = the_owner)
                                 ORDER BY n.ticket LIMIT 1)
                 AND h.deadline_us > now_us AND (the_owner = '' OR h.owner = the_owner)
               ORDER BY h.id LIMIT 1)
              UNION ALL
              (SELECT w.id, w.owner, w.note, w.ticket, w.token, w.held, w.revoked, w.roots
               FROM lk_requests AS w FORCE INDEX (requests_by_path)
               WHERE w.path = the_path AND w.held = 0 AND w.ticket > its_ticket
                 AND w.deadline_us > now_us AND (the_owner = '' OR w.owner = the_owner)
               ORDER BY w.ticket LIMIT 1)) AS r
        ORDER BY r.ticket LIMIT 1;
        IF self IS NOT NULL AND NOT (is_held AND is_revoked AND NOT at_once) THEN
            IF NOT is_held OR at_once THEN
                CALL lk_lock_more_roots(its_roots, locked, has_waiting, has_all);
                CALL lk_remove_request(self, 'broken', its_paths);
                SET released = IF(its_paths = the_path, released, CONCAT(released, ' ', its_paths));
            ELSE
                UPDATE lk_requests AS r FORCE INDEX (PRIMARY)
                SET r.revoked = TRUE WHERE r.id = self;
                IF @lk_inside AND ROW_COUNT() = 0 THEN
                    CALL lk_refuse_snapshot();
                END IF;
                IF @lk_tells THEN
                    CALL lk_tell_request('broken', self, 0);
                END IF;
            END IF;
            SET broken = broken + 1;
            INSERT INTO lk_audits (at_us, broken_by, reason, path, owner, note, ticket, token)
            VALUES (now_us, broken_by, why, the_path, its_owner, its_note, its_ticket, its_token);
        END IF;
    END WHILE;
    IF broken > 0 THEN
        CALL lk_mark_roots(the_root);
        CALL lk_grant_waiters(locked, has_waiting, released, NULL, now_us);
        SELECT MAX(a.id) - @LK_AUDITS_MAX@ INTO self FROM lk_audits AS a;
        DELETE a FROM lk_audits AS a FORCE INDEX (PRIMARY) WHERE a.id <= self;
    END IF;
END
//

-- R15: writes or deletes (`the_value` NULL) a value.
DROP PROCEDURE IF EXISTS lk_decide_put
//
CREATE PROCEDURE lk_decide_put(
    IN the_path VARBINARY(512), IN the_root VARBINARY(255), IN asker VARBINARY(128),
    IN the_token BIGINT, IN the_value MEDIUMBLOB, OUT outcome VARCHAR(16) CHARACTER SET utf8mb4,
    OUT sentence VARCHAR(255) CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE locked BLOB;
    DECLARE has_waiting BOOLEAN;
    DECLARE is_due BOOLEAN;
    DECLARE now_us BIGINT;
    DECLARE is_met BOOLEAN; -- a lease with the token, or else one that blocks
    DECLARE has_changed BOOLEAN DEFAULT TRUE;
    CALL lk_lock_roots(the_root, locked, now_us, is_due, has_waiting);
    IF is_due THEN
        CALL lk_lose_writers(the_path, now_us, locked, has_waiting);
        CALL lk_perish(locked, has_waiting, now_us, 4);
    END IF;
    SELECT EXISTS (
        SELECT 1 FROM lk_numbers AS n
        STRAIGHT_JOIN lk_requests AS p FORCE INDEX (requests_by_path)
        WHERE n.n <= 1 + LENGTH(the_path) - LENGTH(REPLACE(the_path, '/', ''))
          AND p.path = SUBSTRING_INDEX(the_path, '/', n.n) AND p.deadline_us > now_us
          AND p.units = 0 AND p.held
          AND IF(the_token <> 0, p.owner = asker AND p.token = the_token, p.owner <> asker))
    INTO is_met;
    IF @lk_inside AND is_met AND the_token <> 0 THEN
        CALL lk_check_there(asker, the_token);
    END IF;
    IF is_met <> (the_token <> 0) THEN
        SET outcome = IF(the_token <> 0, 'lost', 'busy'), sentence = IF(the_token <> 0,
            '@LK_TEXT_PUT_UNCOVERED@',
            '@LK_TEXT_PUT_COVERED@');
        IF @lk_tells THEN
            CALL lk_tell_refusal(outcome, the_path, '0', '0', asker, '');
        END IF;
    ELSE
        CALL lk_mark_roots(the_root);
        IF the_value IS NULL THEN
            DELETE v FROM lk_values AS v FORCE INDEX (PRIMARY) WHERE v.path = the_path;
            SET has_changed = ROW_COUNT() > 0;
        ELSE
            INSERT INTO lk_values (path, in_doubt, bytes) VALUES (the_path, FALSE, the_value)
            ON DUPLICATE KEY UPDATE in_doubt = FALSE, bytes = the_value;
        END IF;
        IF has_changed AND @lk_tells THEN
            CALL lk_tell('value_written', the_path, asker, '', 0, 0, 0, FALSE, '',
                         the_value IS NULL);
        END IF;
        SET outcome = 'ok';
    END IF;
END
//
DELIMITER ;
