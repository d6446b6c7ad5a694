# SPDX-License-Identifier: Apache-2.0
"""Draws the next number of a series that programs share: usage: counter.py SOCKET DATABASE [USER]

The number is a value that is kept beside its lock. The lock is taken by a transaction of its own,
with the value; the new value is written by the release, if the lease is still held then. For
MariaDB and MySQL; needs PyMySQL (Debian: python3-pymysql).
"""

import sys

import pymysql

LOST = 30078  # 30000 and the exit code of lk


def call(cursor, name, *arguments):
    """The row that a procedure answers, as a dictionary."""
    cursor.callproc(name, arguments)
    row = cursor.fetchone()
    while cursor.nextset():  # the status of the call
        pass
    return row


def draw(connection, path):
    with connection.cursor() as cursor:
        lock = call(cursor, "lk_lock_acquire", path, None, '{"ttl": 10, "with_value": true}')
        if lock["outcome"] != "granted":
            sys.exit(lock["reason"])
        number = int(lock["value"] or 0) + 1
        try:
            call(cursor, "lk_lock_release", path, lock["owner"], lock["token"], str(number), None)
        except pymysql.Error as error:
            if error.args[0] != LOST:
                raise
            sys.exit("the lease was lost: nothing is written")
        return number


connection = pymysql.connect(
    unix_socket=sys.argv[1], database=sys.argv[2], user=(sys.argv[3:] or ["root"])[0],
    autocommit=True, cursorclass=pymysql.cursors.DictCursor)
print(draw(connection, "bills/number"))
