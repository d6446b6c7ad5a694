-- SPDX-License-Identifier: Apache-2.0
-- A trigger that pushes: an order that is inserted announces its work, in the same transaction. An
-- order that is rolled back has no item, and an order that is committed has one.
CREATE TABLE IF NOT EXISTS orders (
    id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    buyer text NOT NULL,
    sent  timestamptz
);

CREATE OR REPLACE FUNCTION announce_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lockkeeper.push('orders', NEW.id::text, json_build_object('buyer', NEW.buyer)::text);
    RETURN NULL;
END $$;

DROP TRIGGER IF EXISTS announce_order ON orders;
CREATE TRIGGER announce_order AFTER INSERT ON orders
    FOR EACH ROW EXECUTE FUNCTION announce_order();
