# SPDX-License-Identifier: Apache-2.0
"""Services that hostile clients (attacks.py) come upon, and the honest client beside these."""

import contextlib
import pathlib
import ssl
import subprocess
import tempfile

import attacks
from certificates import Authority
from service import PATIENCE_S, Http, Resp, Service

PASSWORD = "open sesame"
BOUND = 16 * 1024 * 1024
BOUNDS = ["--bound", f"buffer-bytes={BOUND}", "--bound", "event-bytes=8000000", "--bound", "request-seconds=1",
          "--bound", "strangers=200", "--tcp-keepalive", "2s"]


class Honest:
    """A client of each protocol that has authenticated, as before an attack."""

    def __init__(self, service, tls=None, login=(PASSWORD,)):
        self.resp = Resp(service.resp, tls=tls)
        assert self.resp.call("AUTH", *login) == "OK"
        self.service = service

    def pair(self):
        granted = self.resp.call("ACQUIRE", "honest", "OWNER", "h", "TTL", "60000")
        assert "granted" in granted, granted
        released = self.resp.call("RELEASE", "honest", "OWNER", "h")
        assert released == "OK", released

    def over_http(self):
        """A new connection: it gets in beside all that are refused."""
        wire = Http(self.service.http)
        status, _, body = wire.call("GET", "/v1/limits", headers=(attacks.authorization(PASSWORD),))
        wire.close()
        return status, body

    def over_resp(self):
        wire = Resp(self.service.resp)
        answer = wire.call("AUTH", PASSWORD)
        wire.close()
        return answer


@contextlib.contextmanager
def with_password():
    """The options of a service with one password and no TLS."""
    with tempfile.TemporaryDirectory() as place:
        file = pathlib.Path(place) / "password"
        file.touch(0o600)
        file.write_text(PASSWORD + "\n")
        yield ["--password-file", str(file), *BOUNDS, "--log-level", "error"]


@contextlib.contextmanager
def guarded(program):
    """A service with users and TLS, and what its clients trust."""
    with tempfile.TemporaryDirectory() as place:
        ours = Authority(place, "ours")
        certificate, key = ours.sign("locks")
        users = pathlib.Path(place) / "users"
        subprocess.run([program, "passwd", users, "ana", "--allow", "all:/"], input=PASSWORD + "\n",
                       text=True, check=True, timeout=PATIENCE_S)
        own = Service(program, "--users", str(users), "--tls-cert", certificate, "--tls-key", key, *BOUNDS,
                      "--log-level", "error")
        yield own, ssl.create_default_context(cafile=ours.file)
        assert own.end() == 0
