-- SPDX-License-Identifier: Apache-2.0
-- The steps of all processes. SQLite gives the ids, one transaction at a time: they order the rows
-- of all processes without a clock. The times are only used to draw the picture.
CREATE TABLE record (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    run   TEXT    NOT NULL, -- one run of a test or a reset
    path  TEXT    NOT NULL, -- what it holds while it runs
    what  TEXT    NOT NULL CHECK (what IN ('asks', 'begins', 'works', 'misses', 'ends', 'killed')),
    pid   INTEGER NOT NULL,
    token INTEGER           -- the fencing token of its lease
);

-- The first and the last row of each run that got its lease.
CREATE VIEW span AS
SELECT run, path, min(id) AS first, max(id) AS last, max(token) AS token, max(pid) AS pid
FROM record WHERE what IN ('begins', 'works', 'misses', 'ends') GROUP BY run, path;

-- Pairs of runs that overlapped and must not: a reset with any run, or two runs of one test.
CREATE VIEW overlap AS
SELECT a.run AS run, b.run AS other
FROM span a JOIN span b ON a.run < b.run AND a.first < b.last AND b.first < a.last
WHERE a.path = b.path OR a.path || '/' = substr(b.path, 1, length(a.path) + 1)
   OR b.path || '/' = substr(a.path, 1, length(b.path) + 1);
