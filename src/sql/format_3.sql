-- SPDX-License-Identifier: Apache-2.0
-- From format 2 to format 3: the service. Frozen: later formats have later steps.

-- R18: it ends with a connection to the service.
ALTER TABLE requests ADD COLUMN bound INTEGER NOT NULL DEFAULT 0;

-- Where the service answers that keeps this file, as long as it holds the lock on FILE-served.
ALTER TABLE meta ADD COLUMN served TEXT NOT NULL DEFAULT '';
