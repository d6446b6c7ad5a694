-- SPDX-License-Identifier: Apache-2.0
-- Polling inside one call. A client that waits reads its own request by the primary key, again and
-- again, in one call: no statement of a client, no lock and no write. The pauses are 0.5 ms for the
-- first in the queue and 1 ms for each place of those behind it, and grow to a sixteenth of the time
-- since that place has changed, up to 250 ms: so the next one finds its grant late by 3 % of the
-- time that the lock was held, and a long wait costs little.
--
-- No session is interrupted: in MariaDB a KILL QUERY that meets a session at the edge of a SLEEP() can
-- itself hang for two seconds, and only few users may end statements of others.

DELIMITER //

-- Sleeps until a request does not wait any more, something below its root is overdue, or the time
-- is up. Answers: is_waiting.
--
-- After a second the client has to ask again if its owner has another request, which may be in a
-- cycle that was not seen (R13), or if other roots have to be locked for the request.
DROP PROCEDURE IF EXISTS lk_poll
//
CREATE PROCEDURE lk_poll(IN waiting BIGINT, IN longest_us BIGINT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE begun_us BIGINT
        DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                  MOD 900000000 - 450000000;
    DECLARE now_us BIGINT DEFAULT begun_us;
    DECLARE is_waiting BOOLEAN DEFAULT TRUE;
    DECLARE is_due BOOLEAN DEFAULT FALSE;
    DECLARE has_others BOOLEAN DEFAULT TRUE;
    DECLARE its_owner VARBINARY(128);
    DECLARE its_root VARBINARY(255);
    DECLARE its_path VARBINARY(512);
    DECLARE its_ticket BIGINT;
    DECLARE place INT DEFAULT 1;
    DECLARE former INT DEFAULT 0;
    DECLARE since_us BIGINT DEFAULT begun_us;
    DECLARE slice DECIMAL(10, 6);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET is_waiting = FALSE;
    SELECT r.owner, r.root, r.path, r.ticket, NOT r.held, r.roots <> r.root
    INTO its_owner, its_root, its_path, its_ticket, is_waiting, has_others
    FROM lk_requests AS r FORCE INDEX (PRIMARY) WHERE r.id = waiting AND r.part = 1;
    IF is_waiting AND NOT has_others THEN
        SELECT EXISTS (SELECT 1 FROM lk_requests AS r FORCE INDEX (requests_by_owner)
                       WHERE r.owner = its_owner AND r.id <> waiting) INTO has_others;
    END IF;
    SET longest_us = IF(has_others, LEAST(longest_us, 1000000), longest_us);
    WHILE is_waiting AND NOT is_due AND now_us < begun_us + longest_us DO
        IF former <> 1 THEN -- the first one stays it
            SELECT COUNT(*) INTO place
            FROM (SELECT w.id FROM lk_requests AS w FORCE INDEX (requests_by_path)
                  WHERE w.path = its_path AND w.held = 0 AND w.ticket <= its_ticket LIMIT 64) AS x;
        END IF;
        IF place <> former THEN
            SET former = place, since_us = now_us;
        END IF;
        SET slice = LEAST(250000, GREATEST(IF(place = 1, 500, 1000 * place),
                                           (now_us - since_us) DIV 16),
                          begun_us + longest_us - now_us) / 1000000;
        DO SLEEP(slice);
        SET now_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
                     + (TIMESTAMPDIFF(MICROSECOND, NOW(6), SYSDATE(6)) + 9000000450000000)
                       MOD 900000000 - 450000000;
        SELECT NOT r.held, k.due_us <= now_us INTO is_waiting, is_due
        FROM lk_requests AS r FORCE INDEX (PRIMARY) STRAIGHT_JOIN lk_roots AS k
        WHERE r.id = waiting AND r.part = 1 AND k.root = its_root;
    END WHILE;
    SELECT is_waiting;
END
//

DELIMITER ;
