# SPDX-License-Identifier: Apache-2.0
"""What tests show to a service that guards itself: users in a file, with their ways into it; and certificates,
made by openssl."""

import base64
import pathlib
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


# ---- certificates

CA_CONFIGURATION = """
[ca]
default_ca = all
[all]
database = {place}/index
serial = {place}/serial
new_certs_dir = {place}
default_md = sha256
policy = any
copy_extensions = none
[any]
commonName = supplied
"""


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


class Authority:
    """Signs certificates; its own is in `file`."""

    def __init__(self, place, name):
        self.place = pathlib.Path(place)
        self.name = name
        self.file = self.place / f"{name}.crt"
        self.key = self.place / f"{name}.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-keyout", self.key, "-out", self.file, "-days", 2, "-subj", f"/CN={name}")

    def sign(self, name, names="DNS:localhost,IP:127.0.0.1", days=2, file=None, subject=None):
        """Files of a certificate for the subject `name` and the alternative names, and its key."""
        base = self.place / (file or f"{self.name}-{name}")
        request, key = base.with_suffix(".csr"), base.with_suffix(".key")
        certificate, extensions = base.with_suffix(".crt"), base.with_suffix(".ext")
        extensions.write_text(f"subjectAltName={names}\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
                "-out", request, "-subj", subject or f"/CN={name}")
        openssl("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self.key,
                "-CAcreateserial", "-days", days, "-extfile", extensions, "-out", certificate)
        key.chmod(0o600)
        return str(certificate), str(key)

    def sign_for_later(self, name):
        """A certificate that is not valid yet."""
        certificate, key = self.sign(name)
        folder = self.place / "later"
        folder.mkdir()
        (folder / "index").write_text("")
        (folder / "serial").write_text("01\n")
        (folder / "configuration").write_text(CA_CONFIGURATION.format(place=folder))
        openssl("ca", "-batch", "-config", folder / "configuration", "-cert", self.file, "-keyfile",
                self.key, "-startdate", "20900101000000Z", "-enddate", "20910101000000Z", "-in",
                pathlib.Path(certificate).with_suffix(".csr"), "-extfile",
                pathlib.Path(certificate).with_suffix(".ext"), "-out", certificate, "-notext")
        return certificate, key
