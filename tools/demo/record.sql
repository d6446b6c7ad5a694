-- SPDX-License-Identifier: Apache-2.0
-- Who did what. The ids are given by SQLite, one transaction at a time: they order all rows of all
-- processes without anybody's clock. The times only draw the picture.
CREATE TABLE record (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    run   TEXT    NOT NULL, -- one run of a test or a reset
    path  TEXT    NOT NULL, -- what it holds while it runs
    what  TEXT    NOT NULL CHECK (what IN ('asks', 'begins', 'works', 'misses', 'ends', 'killed')),
    pid   INTEGER NOT NULL,
    token INTEGER           -- the fencing token of its lease
);

-- From the first to the last sign of life of each run that got its lease.
CREATE VIEW span AS
SELECT run, path, min(id) AS first, max(id) AS last, max(token) AS token, max(pid) AS pid
FROM record WHERE what IN ('begins', 'works', 'misses', 'ends') GROUP BY run, path;

-- Two runs that must not have been there at once, and were: a reset with anything, or a test with
-- itself.
CREATE VIEW overlap AS
SELECT a.run AS run, b.run AS other
FROM span a JOIN span b ON a.run < b.run AND a.first < b.last AND b.first < a.last
WHERE a.path = b.path OR a.path || '/' = substr(b.path, 1, length(a.path) + 1)
   OR b.path || '/' = substr(a.path, 1, length(b.path) + 1);
