-- SPDX-License-Identifier: Apache-2.0
-- One line for each run, in the order of their requests: the times of its request, its start and
-- its last row, and how it ended; for a killed run also when the next run that it blocked began.
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
