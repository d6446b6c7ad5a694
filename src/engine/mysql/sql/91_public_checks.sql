-- SPDX-License-Identifier: Apache-2.0
-- Checks of what is passed to the public procedures of 92_public_locks and 93_public_values: the library's
-- checks once more (src/model/path.c, part.c, command_check.c), with their sentences.
--
-- An error of these procedures has the SQLSTATE LK0nn and the number 30000 + nn, which is below 32768
-- because PyMySQL reads 16 bits with a sign; nn is the exit code of lk for the same outcome
-- (src/model/outcome.c). Its sentence has at most 128 characters, because SIGNAL takes no more.

DELIMITER //

DROP PROCEDURE IF EXISTS lk_refuse
//
CREATE PROCEDURE lk_refuse(
    IN outcome VARCHAR(16) CHARACTER SET utf8mb4, IN sentence TEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE words VARCHAR(128) CHARACTER SET utf8mb4 DEFAULT LEFT(sentence, 128);
    CASE outcome
        WHEN 'invalid' THEN
            SIGNAL SQLSTATE 'LK0@LK_EXIT_INVALID@'
            SET MESSAGE_TEXT = words, MYSQL_ERRNO = 300@LK_EXIT_INVALID@;
        WHEN 'full' THEN
            SIGNAL SQLSTATE 'LK0@LK_EXIT_FULL@'
            SET MESSAGE_TEXT = words, MYSQL_ERRNO = 300@LK_EXIT_FULL@;
        WHEN 'busy' THEN
            SIGNAL SQLSTATE 'LK0@LK_EXIT_NOT_GRANTED@'
            SET MESSAGE_TEXT = words, MYSQL_ERRNO = 300@LK_EXIT_NOT_GRANTED@;
        WHEN 'deadlock' THEN
            SIGNAL SQLSTATE 'LK0@LK_EXIT_DEADLOCK@'
            SET MESSAGE_TEXT = words, MYSQL_ERRNO = 300@LK_EXIT_DEADLOCK@;
        WHEN 'lost' THEN
            SIGNAL SQLSTATE 'LK0@LK_EXIT_LOST@'
            SET MESSAGE_TEXT = words, MYSQL_ERRNO = 300@LK_EXIT_LOST@;
        WHEN 'unsupported' THEN
            SIGNAL SQLSTATE 'LK0@LK_EXIT_UNSUPPORTED@'
            SET MESSAGE_TEXT = words, MYSQL_ERRNO = 300@LK_EXIT_UNSUPPORTED@;
        ELSE
            SIGNAL SQLSTATE 'LK0@LK_EXIT_INTERNAL@'
            SET MESSAGE_TEXT = words, MYSQL_ERRNO = 300@LK_EXIT_INTERNAL@;
    END CASE;
END
//

-- ---- R1 ----

-- What is wrong with a path, which has no slash at either end, and whose place in what was passed is
-- `at`, from 0. Raises it.
DROP PROCEDURE IF EXISTS lk_object_to_path
//
CREATE PROCEDURE lk_object_to_path(
    IN path MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, IN at INT)
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE rule VARCHAR(128) CHARACTER SET utf8mb4;
    DECLARE segment MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    -- What precedes the first letter that is not allowed.
    DECLARE allowed MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE letter VARCHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE depth INT DEFAULT 0;
    DECLARE segments INT DEFAULT 1 + LENGTH(path) - LENGTH(REPLACE(path, '/', ''));
    IF path = '' THEN
        SET rule = '@LK_TEXT_PATH_EMPTY@';
    ELSEIF LENGTH(path) > @LK_PATH_BYTES_MAX@ THEN
        SET at = at + @LK_PATH_BYTES_MAX@, rule = '@LK_TEXT_PATH_LONG@';
    END IF;
    WHILE rule IS NULL AND depth < segments DO
        SET segment = SUBSTRING_INDEX(SUBSTRING_INDEX(path, '/', depth + 1), '/', -1);
        SET allowed = COALESCE(REGEXP_SUBSTR(segment, CONCAT('^[^?{}\\x{00}-\\x{20}\\x{7f}-\\x{a0}',
            '\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}]*')), '');
        SET letter = SUBSTRING(segment, CHAR_LENGTH(allowed) + 1, 1);
        SET rule = CASE
            WHEN depth = @LK_PATH_DEPTH_MAX@ THEN '@LK_TEXT_PATH_DEEP@'
            WHEN letter = '?' AND LENGTH(letter) > 0 THEN '@LK_TEXT_PATH_QUESTION@'
            WHEN letter IN ('{', '}') THEN '@LK_TEXT_PATH_BRACES@'
            WHEN letter REGEXP CONCAT('[\\x{09}-\\x{0d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-',
                                      '\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}]')
                THEN '@LK_TEXT_PATH_SPACE@'
            WHEN LENGTH(letter) > 0 THEN '@LK_TEXT_PATH_CONTROL@'
            WHEN LENGTH(segment) = 0 THEN '@LK_TEXT_SEGMENT_EMPTY@'
            WHEN LENGTH(segment) > @LK_SEGMENT_BYTES_MAX@ THEN '@LK_TEXT_SEGMENT_LONG@'
            WHEN segment IN ('.', '..') THEN '@LK_TEXT_SEGMENT_DOTS@' END;
        IF rule IS NULL THEN
            SET at = at + LENGTH(segment) + 1, depth = depth + 1;
        ELSEIF depth < @LK_PATH_DEPTH_MAX@ AND LENGTH(letter) > 0 THEN
            SET at = at + LENGTH(allowed);
        END IF;
    END WHILE;
    IF rule IS NOT NULL THEN
        CALL lk_refuse('invalid', REPLACE(REPLACE(REPLACE('@LK_TEXT_PATH@',
            '%1$s', rule), '%2$s', at + 1),
            '%3$s', IF(rule = '@LK_TEXT_PATH_SPACE@', '@LK_TEXT_PATH_SPACE_ADVICE@', '')));
    END IF;
END
//

-- The path as the store keeps it, without a slash at either end.
DROP PROCEDURE IF EXISTS lk_path_of
//
CREATE PROCEDURE lk_path_of(
    IN said MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, OUT path VARBINARY(512))
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE at INT DEFAULT 0;
    SET said = COALESCE(said, '');
    IF LEFT(said, 1) = '/' THEN
        SET said = SUBSTRING(said, 2), at = 1;
    END IF;
    IF RIGHT(said, 1) = '/' THEN
        SET said = LEFT(said, CHAR_LENGTH(said) - 1);
    END IF;
    -- Most paths are plain, and short.
    IF LENGTH(said) > 64 OR said NOT REGEXP '^[A-Za-z0-9_:@+-]+(/[A-Za-z0-9_:@+-]+)*\\z' THEN
        CALL lk_object_to_path(said, at);
    END IF;
    SET path = CAST(said AS BINARY);
END
//

-- ---- R2 ----

-- A part, PATH[?shared][?limit=N[&units=U]], or PATH?strict. `units` 0: it is exclusive; -1: and strict,
-- which only a need can be (R16).
DROP PROCEDURE IF EXISTS lk_part_of
//
CREATE PROCEDURE lk_part_of(
    IN part MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, IN is_need BOOLEAN,
    OUT path VARBINARY(512), OUT unit_limit INT, OUT units INT)
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE words MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE word MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE rule VARCHAR(128) CHARACTER SET utf8mb4;
    DECLARE number DECIMAL(10, 0);
    DECLARE at INT;
    DECLARE is_shared, is_strict BOOLEAN DEFAULT FALSE;
    SET unit_limit = NULL, units = NULL;
    CALL lk_path_of(SUBSTRING_INDEX(part, '?', 1), path);
    SET at = LENGTH(SUBSTRING_INDEX(part, '?', 1));
    SET words = IF(LOCATE('?', part) > 0,
                   REPLACE(SUBSTRING(part, LOCATE('?', part) + 1), '?', '&'), NULL);
    WHILE words IS NOT NULL AND rule IS NULL DO
        SET word = SUBSTRING_INDEX(words, '&', 1), at = at + 1, number = NULL;
        SET words = IF(LOCATE('&', words) > 0, SUBSTRING(words, LOCATE('&', words) + 1), NULL);
        IF word = 'shared' AND LENGTH(word) = 6 THEN
            SET rule = IF(is_shared, '@LK_TEXT_SHARED_TWICE@', NULL), is_shared = TRUE;
        ELSEIF word = 'strict' AND LENGTH(word) = 6 THEN
            SET rule = IF(is_strict, '@LK_TEXT_STRICT_TWICE@', NULL), is_strict = TRUE;
        ELSEIF LEFT(word, 6) NOT IN ('limit=', 'units=') THEN
            SET rule = '@LK_TEXT_PART_WORDS@';
        ELSEIF IF(LEFT(word, 6) = 'limit=', unit_limit, units) IS NOT NULL THEN
            SET rule = '@LK_TEXT_NUMBER_TWICE@';
        ELSE
            IF SUBSTRING(word, 7) REGEXP '^[0-9]{1,10}\\z' THEN
                SET number = SUBSTRING(word, 7);
            END IF;
            IF number IS NULL OR number NOT BETWEEN 1 AND @LK_LIMIT_MAX@ THEN
                SET rule = '@LK_TEXT_NUMBER@', at = at + 6;
            ELSEIF LEFT(word, 6) = 'limit=' THEN
                SET unit_limit = number;
            ELSE
                SET units = number;
            END IF;
        END IF;
        IF rule IS NULL THEN
            SET at = at + LENGTH(word);
        END IF;
    END WHILE;
    IF rule IS NULL AND units IS NOT NULL AND unit_limit IS NULL THEN
        SET rule = '@LK_TEXT_UNITS_ALONE@', at = at - 1;
    END IF;
    IF rule IS NOT NULL THEN
        CALL lk_refuse('invalid', REPLACE(REPLACE('@LK_TEXT_PART@', '%1$s', rule), '%2$s', at + 1));
    END IF;
    IF is_strict AND (is_shared OR unit_limit IS NOT NULL) THEN
        CALL lk_refuse('invalid', '@LK_TEXT_STRICT_EXCLUSIVE@');
    END IF;
    IF units > unit_limit THEN
        CALL lk_refuse('invalid', REPLACE(REPLACE('@LK_TEXT_UNITS_FIT@', '%1$s', units),
                                          '%2$s', unit_limit));
    END IF;
    IF is_strict AND NOT is_need THEN
        CALL lk_refuse('invalid', '@LK_TEXT_STRICT_NEED@');
    END IF;
    SET units = IF(is_shared OR unit_limit IS NOT NULL, COALESCE(units, 1), -is_strict),
        unit_limit = COALESCE(unit_limit, 0);
END
//

-- One text, or several as a JSON array of them: as words with a space between. A space is no part of a
-- path or an id, so one text with a space is refused, and not taken for two. A path may begin with a
-- bracket, but no segment of one is a whole array of texts.
DROP PROCEDURE IF EXISTS lk_words_of
//
CREATE PROCEDURE lk_words_of(
    IN said MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT words MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE word MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE count INT DEFAULT 1;
    DECLARE i INT DEFAULT 0;
    DECLARE is_list BOOLEAN DEFAULT COALESCE(said REGEXP '^ *\\[ *(["]|\\] *\\z)', FALSE);
    IF is_list AND NOT JSON_VALID(said) THEN
        CALL lk_refuse('invalid', 'several are a JSON array of texts, ["a", "b"]: this is none');
    ELSEIF is_list THEN
        SET count = JSON_LENGTH(said);
    END IF;
    SET words = IF(said IS NULL, NULL, '');
    WHILE i < count AND said IS NOT NULL DO
        SET word = IF(is_list, JSON_EXTRACT(said, CONCAT('$[', i, ']')), said);
        IF is_list AND JSON_TYPE(word) <> 'STRING' THEN
            CALL lk_refuse('invalid', 'several are a JSON array of texts: ["a", "b"]');
        ELSEIF is_list THEN
            SET word = JSON_UNQUOTE(word);
        END IF;
        IF LOCATE(' ', word) > 0 THEN
            CALL lk_refuse('invalid', REPLACE(REPLACE(REPLACE('@LK_TEXT_PATH@',
                '%1$s', '@LK_TEXT_PATH_SPACE@'),
                '%2$s', LENGTH(SUBSTRING_INDEX(word, ' ', 1)) + 1),
                '%3$s', '; several are a JSON array: ["a", "b"]'));
        END IF;
        SET words = CONCAT(words, IF(i = 0, '', ' '), word), i = i + 1;
    END WHILE;
END
//

-- The parts of a request, or what an item needs, with a space between. `sorted` and `roots` are in byte
-- order.
DROP PROCEDURE IF EXISTS lk_parts_of
//
CREATE PROCEDURE lk_parts_of(
    IN parts MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, IN are_needs BOOLEAN,
    OUT paths BLOB, OUT limits VARBINARY(255), OUT counts VARBINARY(255), OUT sorted BLOB, OUT roots BLOB)
SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE count INT DEFAULT 1 + LENGTH(parts) - LENGTH(REPLACE(parts, ' ', ''));
    DECLARE i INT DEFAULT 1;
    DECLARE path VARBINARY(512);
    DECLARE unit_limit INT;
    DECLARE units INT;
    IF COALESCE(parts, '') = '' OR count > @LK_PARTS_MAX@ THEN
        CALL lk_refuse('invalid', REPLACE(REPLACE('@LK_TEXT_PARTS@', '%1$s', @LK_PARTS_MAX@),
                                          '%2$s', IF(COALESCE(parts, '') = '', 0, count)));
    END IF;
    WHILE i <= count DO
        CALL lk_part_of(SUBSTRING_INDEX(SUBSTRING_INDEX(parts, ' ', i), ' ', -1), are_needs, path,
                        unit_limit, units);
        IF i > 1 AND LOCATE(CONCAT(' ', path, ' '), CONCAT(' ', paths, ' ')) > 0 THEN
            CALL lk_refuse('invalid', REPLACE(REPLACE('@LK_TEXT_PART_TWICE@', '%1$s', i),
                                              '%2$s', CONVERT(path USING utf8mb4)));
        END IF;
        SET paths = IF(i = 1, path, CONCAT(paths, ' ', path)),
            limits = IF(i = 1, unit_limit, CONCAT(limits, ' ', unit_limit)),
            counts = IF(i = 1, units, CONCAT(counts, ' ', units)), i = i + 1;
    END WHILE;
    SET sorted = paths, roots = SUBSTRING_INDEX(paths, '/', 1);
    IF count > 1 THEN
        SET SESSION group_concat_max_len = 4194304;
        SELECT GROUP_CONCAT(x.path ORDER BY x.path SEPARATOR ' '),
               GROUP_CONCAT(DISTINCT x.root ORDER BY x.root SEPARATOR ' ')
        INTO sorted, roots
        FROM (SELECT LEFT(SUBSTRING_INDEX(SUBSTRING_INDEX(paths, ' ', n.n), ' ', -1),
                          @LK_PATH_BYTES_MAX@) AS path,
                     LEFT(SUBSTRING_INDEX(SUBSTRING_INDEX(SUBSTRING_INDEX(paths, ' ', n.n), ' ', -1),
                                          '/', 1), @LK_SEGMENT_BYTES_MAX@) AS root
              FROM lk_numbers AS n WHERE n.n <= count) AS x;
    END IF;
END
//

-- ---- options ----

-- A JSON object with no other names than those that are known, each between two spaces.
DROP PROCEDURE IF EXISTS lk_check_options
//
CREATE PROCEDURE lk_check_options(
    IN options MEDIUMTEXT CHARACTER SET utf8mb4, IN known VARCHAR(128) CHARACTER SET utf8mb4)
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE keys_there MEDIUMTEXT CHARACTER SET utf8mb4;
    DECLARE name MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE i INT DEFAULT 0;
    DECLARE is_object BOOLEAN DEFAULT JSON_VALID(options);
    IF is_object THEN
        SET is_object = JSON_TYPE(options) = 'OBJECT';
    END IF;
    IF NOT is_object THEN
        CALL lk_refuse('invalid', 'options are one JSON object, or NULL');
    END IF;
    SET keys_there = JSON_KEYS(options);
    WHILE i < JSON_LENGTH(keys_there) DO
        SET name = JSON_UNQUOTE(JSON_EXTRACT(keys_there, CONCAT('$[', i, ']'))), i = i + 1;
        IF name = '' OR LOCATE(CONCAT(' ', name, ' '), known) = 0 THEN
            CALL lk_refuse('invalid', CONCAT('there is no option ', LEFT(name, 32),
                                             '; there are:', known));
        END IF;
    END WHILE;
END
//

-- One of them as text; NULL: it is not there, or null.
DROP PROCEDURE IF EXISTS lk_option
//
CREATE PROCEDURE lk_option(
    IN options MEDIUMTEXT CHARACTER SET utf8mb4, IN name VARCHAR(16) CHARACTER SET utf8mb4,
    OUT its_text MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE found MEDIUMTEXT CHARACTER SET utf8mb4 DEFAULT JSON_EXTRACT(options,
                                                                        CONCAT('$.', name));
    SET its_text = IF(JSON_TYPE(found) = 'NULL', NULL, JSON_UNQUOTE(found));
END
//

DROP PROCEDURE IF EXISTS lk_flag
//
CREATE PROCEDURE lk_flag(
    IN options MEDIUMTEXT CHARACTER SET utf8mb4, IN name VARCHAR(16) CHARACTER SET utf8mb4,
    IN otherwise BOOLEAN, OUT flag BOOLEAN)
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE word MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    CALL lk_option(options, name, word);
    IF word NOT IN ('true', 'false') THEN
        CALL lk_refuse('invalid', CONCAT(name, ' is true or false, not ', LEFT(word, 32)));
    END IF;
    SET flag = COALESCE(word = 'true', otherwise);
END
//

-- R11: seconds, as milliseconds; 0: none are named.
DROP PROCEDURE IF EXISTS lk_ttl_of
//
CREATE PROCEDURE lk_ttl_of(
    IN options MEDIUMTEXT CHARACTER SET utf8mb4, OUT ttl_ms BIGINT)
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE seconds MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    CALL lk_option(options, 'ttl', seconds);
    SET ttl_ms = 0;
    IF seconds IS NOT NULL THEN
        IF seconds REGEXP '^[0-9]{1,9}([.][0-9]{1,9})?\\z' THEN
            SET ttl_ms = ROUND(CAST(seconds AS DECIMAL(20, 9)) * 1000);
        END IF;
        IF ttl_ms NOT BETWEEN @LK_TTL_MIN_MS@ AND @LK_TTL_MAX_MS@ THEN
            CALL lk_refuse('invalid', CONCAT('R11: a ttl is ',
                TRIM(TRAILING '0' FROM @LK_TTL_MIN_MS@ / 1000), ' to ',
                @LK_TTL_MAX_DAYS@ * 86400, ' seconds (@LK_TTL_MAX_DAYS@ days), not ', LEFT(seconds, 32)));
        END IF;
    END IF;
END
//

-- R11: a date and time of the session's zone, in microseconds of Unix time; 0: none is named.
DROP PROCEDURE IF EXISTS lk_until_of
//
CREATE PROCEDURE lk_until_of(
    IN options MEDIUMTEXT CHARACTER SET utf8mb4, IN ttl_ms BIGINT, OUT until_us BIGINT)
SQL SECURITY INVOKER NO SQL
BEGIN
    DECLARE moment MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    CALL lk_option(options, 'until', moment);
    SET until_us = 0;
    IF moment IS NOT NULL AND ttl_ms > 0 THEN
        CALL lk_refuse('invalid', '@LK_TEXT_TTL_OR_END@');
    ELSEIF moment IS NOT NULL THEN
        BEGIN
            DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET until_us = 0;
            SET until_us = CAST(UNIX_TIMESTAMP(CAST(moment AS DATETIME(6))) * 1000000 AS SIGNED);
        END;
        IF COALESCE(until_us, 0) <= 1000000 THEN
            CALL lk_refuse('invalid', 'R11: a fixed end is a date and time within @LK_TTL_MAX_DAYS@ days');
        END IF;
    END IF;
END
//

-- ---- owners, texts, values ----

DROP PROCEDURE IF EXISTS lk_check_text
//
CREATE PROCEDURE lk_check_text(
    IN name VARCHAR(64) CHARACTER SET utf8mb4, IN words MEDIUMTEXT CHARACTER SET utf8mb4,
    IN bytes_min INT, IN bytes_max INT)
SQL SECURITY INVOKER NO SQL
BEGIN
    IF LENGTH(words) NOT BETWEEN bytes_min AND bytes_max THEN
        CALL lk_refuse('invalid', CONCAT(name, ' has ', bytes_min, ' to ', bytes_max, ' bytes'));
    END IF;
END
//

DROP PROCEDURE IF EXISTS lk_check_owner
//
CREATE PROCEDURE lk_check_owner(IN owner MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER NO SQL
BEGIN
    IF LENGTH(owner) NOT BETWEEN 1 AND @LK_OWNER_BYTES_MAX@ THEN
        CALL lk_refuse('invalid', REPLACE(REPLACE('@LK_TEXT_OWNER@', '%1$s', @LK_OWNER_BYTES_MAX@),
                                          '%2$s', LENGTH(owner)));
    END IF;
END
//

DROP PROCEDURE IF EXISTS lk_check_value
//
CREATE PROCEDURE lk_check_value(IN bytes LONGBLOB)
SQL SECURITY INVOKER NO SQL
BEGIN
    IF LENGTH(bytes) > @LK_VALUE_BYTES_MAX@ THEN
        CALL lk_refuse('invalid', REPLACE(REPLACE('@LK_TEXT_VALUE@', '%1$s', @LK_VALUE_BYTES_MAX@),
                                          '%2$s', LENGTH(bytes)));
    END IF;
END
//

-- R12: what ends or moves a lease names one of the two.
DROP PROCEDURE IF EXISTS lk_check_end
//
CREATE PROCEDURE lk_check_end(
    IN owner MEDIUMTEXT CHARACTER SET utf8mb4, IN token BIGINT)
SQL SECURITY INVOKER NO SQL
BEGIN
    CALL lk_check_owner(owner);
    IF owner IS NULL AND token IS NULL THEN
        CALL lk_refuse('invalid', 'R12: what ends or moves a lease names its owner or its token');
    END IF;
END
//
DELIMITER ;
