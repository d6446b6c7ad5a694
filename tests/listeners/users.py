# SPDX-License-Identifier: Apache-2.0
"""A file of users for tests, and their ways into a service."""

import base64
import subprocess
import sys

from service import PATIENCE_S, Http, Refused, Resp

LK = sys.argv[1]
ANA, BEN, EVA, OPS = "wonder", "builder", "spectator", "operator"


def passwd(path, *words, secret=""):
    ended = subprocess.run([LK, "passwd", str(path), *words], input=secret + "\n", text=True,
                           capture_output=True, timeout=PATIENCE_S, check=True)
    return ended.stdout.strip()


def write_users(path):
    passwd(path, "ana", "--allow", "lock,read,put,watch,push,claim:a", secret=ANA)
    passwd(path, "ben", "--allow", "lock,read,put,push,claim:b/own", "--allow", "lock:a/shared",
           secret=BEN)
    passwd(path, "eva", "--allow", "watch:a", secret=EVA)
    passwd(path, "ops", "--allow", "all:/", secret=OPS)
    return passwd(path, "robot", "--token", "--allow", "lock,read:a")


def refusal(answer, word, text=""):
    assert isinstance(answer, Refused) and str(answer).split()[0] == word, answer
    assert text in str(answer), answer


def enter(service, user, secret, version=3):
    wire = Resp(service.resp)
    assert wire.call("HELLO", version, "AUTH", user, secret) is not None
    return wire


def basic(user, secret):
    return "Authorization: Basic " + base64.b64encode(f"{user}:{secret}".encode()).decode()


def http(service, who, method, path, body=b""):
    status, _, reply = Http(service.http).call(method, path, body, headers=(who,))
    return status, reply
