-- SPDX-License-Identifier: Apache-2.0
-- Waiting and waking. A client that waits sleeps in lk_doze(), on a connection that does nothing
-- else. While it sleeps there, that session has a named lock of the server (GET_LOCK) for its
-- request. A transaction that grants or ends waiting requests notes them in @lk_granted; after its
-- commit, lk_wake() finds the sessions that have these locks and ends their sleep (KILL QUERY).
--
-- Nothing is stored, so nothing is stale: a session that ends, or a server that restarts, has no
-- such locks. A user may end the sleep of another user only with a privilege that few have. So the
-- sleep is cut into slices, after each of which the request is read again. A wake-up that hits a
-- session between two sleeps is an early return.

DELIMITER //

-- Sleeps until a request does not wait any more, something below its root is overdue, or the time
-- is up. Answers: is_waiting.
--
-- After a second the client has to ask again if its owner has another request, which may be in a
-- cycle that was not seen (R13), or if other roots have to be locked for the request.
DROP PROCEDURE IF EXISTS lk_doze
//
CREATE PROCEDURE lk_doze(IN waiting BIGINT, IN longest_us BIGINT)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE name VARCHAR(64) CHARACTER SET utf8mb4 DEFAULT CONCAT(
        'lockkeeper ', LEFT(SHA2(CONCAT(DATABASE(), '.lk_'), 256), 32), ' ', waiting);
    DECLARE begun_us BIGINT
        DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
    DECLARE now_us BIGINT DEFAULT begun_us;
    DECLARE is_waiting BOOLEAN DEFAULT TRUE;
    DECLARE is_due BOOLEAN DEFAULT FALSE;
    DECLARE has_others BOOLEAN DEFAULT TRUE;
    DECLARE its_owner VARBINARY(128);
    DECLARE its_root VARBINARY(255);
    DECLARE slice DECIMAL(10, 6);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET is_waiting = FALSE;
    DO GET_LOCK(name, 0);
    SELECT r.owner, r.root, NOT r.held, r.roots <> r.root
    INTO its_owner, its_root, is_waiting, has_others
    FROM lk_requests AS r FORCE INDEX (PRIMARY) WHERE r.id = waiting AND r.part = 1;
    IF is_waiting AND NOT has_others THEN
        SELECT EXISTS (SELECT 1 FROM lk_requests AS r FORCE INDEX (requests_by_owner)
                       WHERE r.owner = its_owner AND r.id <> waiting) INTO has_others;
    END IF;
    SET longest_us = IF(has_others, LEAST(longest_us, 1000000), longest_us);
    WHILE is_waiting AND NOT is_due AND now_us < begun_us + longest_us DO
        SET slice = LEAST(250000, begun_us + longest_us - now_us) / 1000000;
        DO SLEEP(slice);
        SELECT NOT r.held INTO is_waiting
        FROM lk_requests AS r FORCE INDEX (PRIMARY) WHERE r.id = waiting AND r.part = 1;
        SET now_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
        IF is_waiting THEN
            SELECT COALESCE(MAX(r.due_us <= now_us), TRUE) INTO is_due FROM lk_roots AS r
            WHERE r.root = its_root;
        END IF;
    END WHILE;
    DO RELEASE_LOCK(name);
    SELECT is_waiting;
END
//

-- After the commit: wakes the clients whose requests were granted or ended.
DROP PROCEDURE IF EXISTS lk_wake
//
CREATE PROCEDURE lk_wake()
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE start VARCHAR(64) CHARACTER SET utf8mb4 DEFAULT CONCAT(
        'lockkeeper ', LEFT(SHA2(CONCAT(DATABASE(), '.lk_'), 256), 32), ' ');
    DECLARE one VARCHAR(20) CHARACTER SET utf8mb4;
    DECLARE sleeper BIGINT;
    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; -- of another user, or gone
    WHILE @lk_granted <> '' DO
        SET one = SUBSTRING_INDEX(@lk_granted, ' ', 1);
        SET @lk_granted = SUBSTRING(@lk_granted, LENGTH(one) + 2);
        SET sleeper = IS_USED_LOCK(CONCAT(start, one));
        IF sleeper IS NOT NULL THEN
            KILL QUERY sleeper;
        END IF;
    END WHILE;
END
//
DELIMITER ;
