-- SPDX-License-Identifier: Apache-2.0
-- From format 4 to format 5: work in tables of the owner's (R17). Frozen: later formats have later
-- steps.

-- R17: rows of a table that are done and still fit its query: they are not announced again.
CREATE TABLE done_rows (
    number INTEGER PRIMARY KEY,
    queue  TEXT NOT NULL,
    id     TEXT NOT NULL, -- as in paths
    UNIQUE (queue, id)
);
