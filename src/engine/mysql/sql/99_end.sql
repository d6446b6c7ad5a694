-- SPDX-License-Identifier: Apache-2.0
-- Made last: who finds this row, with this format, finds everything.

DELIMITER //

INSERT IGNORE INTO lk_meta (format, writable_from, server_start) VALUES (2, 1, 0)
//
UPDATE lk_meta SET format = 2 WHERE format < 2
//
DELIMITER ;
