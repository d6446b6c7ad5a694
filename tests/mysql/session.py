# SPDX-License-Identifier: Apache-2.0
"""Sessions of the server that with_server.sh has started."""

import os
import subprocess

SOCKET = os.environ["LK_TEST_SERVER"] + "/socket"


class Session:
    """A client of the server whose statements are sent without waiting for their answers."""

    def __init__(self):
        self.client = subprocess.Popen(
            ["mariadb", "--no-defaults", "-u", "root", "-S", SOCKET, "-N", "-B", "-n", "test"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, sql):
        self.client.stdin.write(sql + ";\n")
        self.client.stdin.flush()

    def answer(self):
        line = self.client.stdout.readline()
        if not line:
            raise SystemExit("Bail out! the client of the server has ended")
        return line.rstrip("\n").split("\t")

    def run(self, sql):
        self.send(sql)
        return self.answer()
