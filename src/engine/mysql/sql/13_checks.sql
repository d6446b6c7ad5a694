-- SPDX-License-Identifier: Apache-2.0
-- What no row may be, however it is written: a row that the library cannot read would make every listing
-- fail. The public procedures (91_public_checks) say what is wrong; these constraints hold for the
-- internal procedures too, which take what they are given.
--
-- A constraint is added as text, so that rules share expressions. There is no backslash in it: the two
-- servers store a pattern with one in different ways, so a pattern is told in hexadecimal digits.
-- Nothing is compared with NULL: that would satisfy it.

DELIMITER //

-- ---- expressions ----

DROP PROCEDURE IF EXISTS lk_pattern_rule
//
CREATE PROCEDURE lk_pattern_rule(
    IN pattern VARCHAR(512) CHARACTER SET utf8mb4, OUT rule TEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER NO SQL
BEGIN
    SET rule = CONCAT('CONVERT(UNHEX(''', HEX(pattern), ''') USING utf8mb4)');
END
//

-- R1, of texts with a slash before, between and after their segments: that none is empty or dots, and none
-- has a letter that is not allowed.
DROP PROCEDURE IF EXISTS lk_segments_rule
//
CREATE PROCEDURE lk_segments_rule(
    IN slashed TEXT CHARACTER SET utf8mb4, OUT rule TEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER NO SQL
BEGIN
    CALL lk_pattern_rule(CONCAT('/[.]?[.]?/|[?{}\\x{00}-\\x{20}\\x{7f}-\\x{a0}\\x{1680}',
                                '\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}]'),
                         rule);
    -- Of bytes that are no text MySQL makes NULL, and MariaDB question marks.
    SET rule = CONCAT('COALESCE(CONVERT(', slashed, ' USING utf8mb4) NOT REGEXP ', rule, ', FALSE)');
END
//

-- R1: that it is a path as the store keeps it. As latin1 any byte is a letter.
DROP PROCEDURE IF EXISTS lk_path_rule
//
CREATE PROCEDURE lk_path_rule(
    IN path TEXT CHARACTER SET utf8mb4, OUT rule TEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER NO SQL
BEGIN
    CALL lk_segments_rule(CONCAT('CONCAT(''/'', ', path, ', ''/'')'), rule);
    SET rule = CONCAT('LENGTH(', path, ') BETWEEN 1 AND @LK_PATH_BYTES_MAX@ AND ', rule,
        ' AND (LENGTH(', path, ') <= 64 OR LENGTH(', path, ') - LENGTH(REPLACE(', path,
        ', ''/'', '''')) < @LK_PATH_DEPTH_MAX@) AND (LENGTH(', path, ') <= @LK_SEGMENT_BYTES_MAX@',
        ' OR CONVERT(', path,
        ' USING latin1) NOT REGEXP ''[^/]{@LK_SEGMENT_BYTES_MAX@}[^/]'')');
END
//

-- ---- tables ----

-- Adds the constraint, if it is not there.
DROP PROCEDURE IF EXISTS lk_add_rule
//
CREATE PROCEDURE lk_add_rule(
    IN place VARCHAR(64) CHARACTER SET utf8mb4, IN rule TEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE is_there BOOLEAN;
    SELECT COUNT(*) INTO is_there FROM information_schema.TABLE_CONSTRAINTS AS c
    WHERE c.CONSTRAINT_SCHEMA = DATABASE() AND c.TABLE_NAME = place
      AND c.CONSTRAINT_NAME = CONCAT(place, '_are_sound');
    IF NOT is_there THEN
        SET @lk_question = CONCAT('ALTER TABLE ', place, ' ADD CONSTRAINT ', place,
                                  '_are_sound CHECK (', rule, ')');
        PREPARE lk_asking FROM @lk_question;
        EXECUTE lk_asking;
        DEALLOCATE PREPARE lk_asking;
    END IF;
END
//

DROP PROCEDURE IF EXISTS lk_add_rules
//
CREATE PROCEDURE lk_add_rules()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE rule TEXT CHARACTER SET utf8mb4;
    DECLARE segments TEXT CHARACTER SET utf8mb4;
    CALL lk_path_rule('path', rule);
    CALL lk_add_rule('lk_requests', CONCAT(rule,
        ' AND part BETWEEN 1 AND @LK_PARTS_MAX@ AND part_count BETWEEN part AND @LK_PARTS_MAX@',
        ' AND IF(unit_limit = 0, units IN (0, 1), units BETWEEN 1 AND unit_limit)',
        ' AND owner <> '''' AND ticket > 0 AND token >= 0 AND held = (token > 0)',
        ' AND ttl_ms BETWEEN 1 AND @LK_TTL_MAX_MS@ AND root = SUBSTRING_INDEX(path, ''/'', 1)',
        ' AND IF(part_count = 1, roots = root,',
        '        LOCATE(CONCAT('' '', root, '' ''), CONCAT('' '', roots, '' '')) > 0)',
        ' AND IF(is_claim OR part_count > 1, TRUE,',
        '        COALESCE(identity = UNHEX(SHA2(CONCAT(path, CHAR(10), owner), 256)), FALSE))'));
    CALL lk_add_rule('lk_values', CONCAT(rule, ' AND LENGTH(bytes) <= @LK_VALUE_BYTES_MAX@'));
    CALL lk_add_rule('lk_queues', rule);
    CALL lk_path_rule('CONCAT(queue, ''/'', id)', rule);
    CALL lk_segments_rule('CONCAT(''/'', REPLACE(needs, '' '', ''/''), ''/'')', segments);
    CALL lk_add_rule('lk_items', CONCAT(rule, ' AND id <> '''' AND LOCATE(''/'', id) = 0',
        ' AND IF(needs = '''', need_limits = '''' AND need_units = '''' AND need_roots = '''', ',
        segments, ')'));
    CALL lk_add_rule('lk_item_values', 'LENGTH(bytes) <= @LK_VALUE_BYTES_MAX@');
    -- R2, R21: parts with a space between, and what is said of them.
    CALL lk_pattern_rule('[?](shared|limit=[0-9]{1,10}(&units=[0-9]{1,10})?)(?=/|$)', rule);
    CALL lk_segments_rule(CONCAT('CONCAT(''/'', REGEXP_REPLACE(REPLACE(CONVERT(parts USING utf8mb4), ',
                                 ''' '', ''/''), ', rule, ', ''''), ''/'')'), segments);
    CALL lk_add_rule('lk_happenings', CONCAT('(parts = '''' OR ', segments, ')'));
END
//
CALL lk_add_rules()
//
DELIMITER ;
