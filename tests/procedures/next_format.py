#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: next_format.py postgresql|mysql <TEXT

Prints the text of a made-up next format, 2, made from that of `lk schema`, as README.md of the engine
says under "The next format": what programs call has other names (in MySQL all but the procedures for
people), a column of requests is renamed, and
the store's row has one column more. The step takes a while, so that calls begin meanwhile.
"""
import re
import sys

# What this program's format calls in PostgreSQL, and what can give its caller something.
CALLS = (r"lk_(?:ask|renew|release|break|put|push_item|push_many|take|take_many|finish_claim|finish_many)"
         r"|take_row|take_row_shared|finish_and_take_row")
# What installs, and goes on where another installer was broken off.
INSTALLING = {"lk_close_store", "lk_check_format", "lk_open_store", "lk_step"}
STEP = {
    "postgresql": """
    IF found = 1 THEN
        ALTER TABLE lockkeeper.requests RENAME COLUMN attended TO is_attended;
        ALTER TABLE lockkeeper.meta ADD COLUMN motto text NOT NULL DEFAULT 'two';
        PERFORM pg_sleep(0.3);
        found := 2;
    END IF;
""",
    "mysql": """
DELIMITER //
DROP PROCEDURE IF EXISTS lk_step
//
CREATE PROCEDURE lk_step()
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE is_there BOOLEAN;
    DO SLEEP(0.3);
    SELECT COUNT(*) INTO is_there FROM information_schema.COLUMNS AS c
    WHERE c.TABLE_SCHEMA = DATABASE() AND c.TABLE_NAME = 'lk_requests' AND c.COLUMN_NAME = 'attended';
    IF is_there THEN
        ALTER TABLE lk_requests CHANGE COLUMN attended is_attended BOOLEAN NOT NULL;
    END IF;
    SELECT COUNT(*) INTO is_there FROM information_schema.COLUMNS AS c
    WHERE c.TABLE_SCHEMA = DATABASE() AND c.TABLE_NAME = 'lk_meta' AND c.COLUMN_NAME = 'motto';
    IF NOT is_there THEN
        ALTER TABLE lk_meta ADD COLUMN motto VARCHAR(9) NOT NULL DEFAULT 'two';
    END IF;
END
//
CALL lk_step()
//
DELIMITER ;
""",
}


def once(text, old, new):
    if text.count(old) != 1:
        sys.exit(f"next_format.py: {old!r} is there {text.count(old)} times")
    return text.replace(old, new)


def postgresql(text):
    text = once(text, "this_format CONSTANT integer := 1;", "this_format CONSTANT integer := 2;")
    text = once(text, "INSERT INTO lockkeeper.meta (format) VALUES (1);",
                "INSERT INTO lockkeeper.meta (format) VALUES (2);")
    text = once(text, "bigint NOT NULL DEFAULT 0  -- R21: the last number drawn",
                "bigint NOT NULL DEFAULT 0, motto text NOT NULL DEFAULT 'two'")
    text = re.sub(rf"\blockkeeper\.({CALLS})(?=\()", r"lockkeeper.\1_2", text)
    return once(text, "\n    UPDATE lockkeeper.meta SET format = this_format;",
                STEP["postgresql"] + "\n    UPDATE lockkeeper.meta SET format = this_format;")


def mysql(text):
    heads = re.findall(r"^CREATE PROCEDURE (lk_\w+)\((.*?)^BEGIN", text, flags=re.M | re.S)
    names = {name for name, head in heads if "COMMENT" not in head} - INSTALLING
    names = "(?:" + "|".join(sorted(names, key=len, reverse=True)) + ")"
    text = once(text, "CALL lk_check_format(1)", "CALL lk_check_format(2)")
    text = once(text, "(format, server_start) VALUES (1, 0)", "(format, server_start) VALUES (2, 0)")
    text = once(text, "SET format = 1 WHERE format < 1", "SET format = 2 WHERE format < 2")
    text = once(text, "STORED\n) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4\n//\n\n-- A root",
                "STORED,\n    motto VARCHAR(9) NOT NULL DEFAULT 'two'\n) ENGINE = InnoDB ROW_FORMAT = "
                "DYNAMIC DEFAULT CHARSET = utf8mb4\n//\n\n-- A root")
    text = re.sub(rf"^(DROP PROCEDURE IF EXISTS {names})$", r"\1\n//\n\1_2", text, flags=re.M)
    text = re.sub(rf"\b((?:CREATE PROCEDURE|CALL) {names})(?=\()", r"\1_2", text)
    return once(text, "-- What no row may be, however", STEP["mysql"] + "-- What no row may be, however")


which = sys.argv[1]
renamed = re.sub(r"\battended\b", "is_attended", sys.stdin.read())
sys.stdout.write(postgresql(renamed) if which == "postgresql" else mysql(renamed))
