-- SPDX-License-Identifier: Apache-2.0
-- One line for each run, in the order of their requests: the times of its request, its start and
-- its last row, and how it ended; for a killed run also when its lease had ended: when the next run
-- that it blocked began, and at :ttl_ms after the kill at the latest. That run may wait for others, too.
SELECT run,
       min(at_ms) FILTER (WHERE what = 'asks'),
       min(at_ms) FILTER (WHERE what = 'begins'),
       max(at_ms),
       CASE WHEN max(what = 'killed') THEN 'killed' WHEN max(what = 'ends') THEN 'ended' ELSE 'failed' END,
       min(max(at_ms) + :ttl_ms,
           ifnull((SELECT min(next.at_ms) FROM record next
                   WHERE next.what = 'begins' AND next.path = 'mydatabase'
                     AND next.at_ms > (SELECT max(at_ms) FROM record own WHERE own.run = record.run)),
                  9e15)),
       (SELECT max(at_ms) FROM record)
FROM record GROUP BY run ORDER BY min(id);
