-- SPDX-License-Identifier: Apache-2.0
-- A trigger that pushes: an order that is inserted announces its work, in the same transaction. An
-- order that is rolled back has no item, and an order that is committed has one. Sessions that insert
-- orders are at READ COMMITTED:
--
--     mariadb shop <outbox-mariadb.sql
CREATE TABLE IF NOT EXISTS orders (
    id    BIGINT AUTO_INCREMENT PRIMARY KEY,
    buyer VARCHAR(64) CHARACTER SET utf8mb4 NOT NULL,
    sent  DATETIME
) ENGINE = InnoDB;

DROP TRIGGER IF EXISTS announce_order;
CREATE TRIGGER announce_order AFTER INSERT ON orders FOR EACH ROW
    CALL lk_work_push_inside('orders', NEW.id, JSON_OBJECT('buyer', NEW.buyer), NULL);
