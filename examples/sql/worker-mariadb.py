# SPDX-License-Identifier: Apache-2.0
"""A worker on the queue of outbox-mariadb.sql: usage: worker-mariadb.py SOCKET DATABASE [USER]

The claim is a transaction of its own, committed before the work begins, so that no root is locked
while it lasts. The end of the claim is one transaction with the result: both are committed, or
neither. For MariaDB and MySQL; needs PyMySQL (Debian: python3-pymysql).
"""

import json
import sys

import pymysql

LOST = 30078  # 30000 and the exit code of lk


def call(cursor, name, *arguments):
    """The rows that a procedure answers, as dictionaries."""
    cursor.callproc(name, arguments)
    rows = cursor.fetchall()
    while cursor.nextset():  # the status of the call
        pass
    return rows


def send(buyer):
    print("sent to", buyer)


def finish(connection, cursor, item):
    try:
        connection.begin()
        cursor.execute("UPDATE orders SET sent = NOW() WHERE id = %s", [int(item["id"])])
        call(cursor, "lk_work_done", "orders", item["id"], None, item["token"], None)
        connection.commit()
    except pymysql.Error as error:
        connection.rollback()
        if error.args[0] != LOST:
            raise
        print(item["id"], "was taken by another worker: nothing is written")


connection = pymysql.connect(
    unix_socket=sys.argv[1], database=sys.argv[2], user=(sys.argv[3:] or ["root"])[0],
    autocommit=True, cursorclass=pymysql.cursors.DictCursor,
    init_command="SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
with connection.cursor() as cursor:
    while claimed := call(cursor, "lk_work_claim", "orders", 1, None, '{"ttl": 300}'):
        send(json.loads(claimed[0]["value"])["buyer"])
        finish(connection, cursor, claimed[0])
