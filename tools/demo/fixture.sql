-- SPDX-License-Identifier: Apache-2.0
-- What the tests find in the test database.
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    customer INTEGER NOT NULL REFERENCES customers,
    cents INTEGER NOT NULL,
    placed_by TEXT NOT NULL
);
INSERT INTO customers (name) VALUES ('Ada'), ('Grace'), ('Edsger'), ('Barbara'), ('Tony');
