# SPDX-License-Identifier: Apache-2.0
"""A worker on the queue of outbox.sql: usage: worker.py CONNECTION

The claim is a transaction of its own, committed before the work begins, so that no root is locked
while it lasts. The end of the claim is one transaction with the result: both are committed, or
neither. Needs psycopg 3 (Debian: python3-psycopg).
"""

import json
import sys

import psycopg

LOST = "LK078"


def send(buyer):
    print("sent to", buyer)


def claim(connection):
    with connection.transaction():  # BEGIN ... COMMIT, whatever autocommit says
        return connection.execute(
            "SELECT id, value, token FROM lockkeeper.claim('orders', ttl => '5 min')"
        ).fetchone()


def finish(connection, item, token):
    try:
        with connection.transaction():
            connection.execute("UPDATE orders SET sent = now() WHERE id = %s", [int(item)])
            connection.execute("SELECT lockkeeper.done('orders', %s, token => %s)", [item, token])
    except psycopg.Error as error:
        if error.sqlstate != LOST:
            raise
        print(item, "was taken by another worker: nothing is written")


with psycopg.connect(sys.argv[1]) as connection:
    while (claimed := claim(connection)) is not None:
        item, value, token = claimed
        send(json.loads(bytes(value))["buyer"])
        finish(connection, item, token)
