# SPDX-License-Identifier: Apache-2.0
"""Certificates for tests, made by openssl."""

import pathlib
import subprocess

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
