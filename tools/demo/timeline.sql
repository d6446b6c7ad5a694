-- SPDX-License-Identifier: Apache-2.0
-- One line for each run, in the order in which they asked: when it asked, began, gave its last
-- sign of life, and how it went; for one that was killed also when the next one began for which
-- it was in the way.
SELECT run,
       min(at_ms) FILTER (WHERE what = 'asks'),
       min(at_ms) FILTER (WHERE what = 'begins'),
       max(at_ms),
       CASE WHEN max(what = 'killed') THEN 'killed' WHEN max(what = 'ends') THEN 'ended' ELSE 'failed' END,
       (SELECT min(next.at_ms) FROM record next
        WHERE next.what = 'begins' AND next.path = 'mydatabase'
          AND next.at_ms > (SELECT max(at_ms) FROM record own WHERE own.run = record.run)),
       (SELECT max(at_ms) FROM record)
FROM record GROUP BY run ORDER BY min(id);
