# SPDX-License-Identifier: Apache-2.0
"""A package of Hex that is the same for the same files: hex.py FILE DIRECTORY.

The form is that of https://github.com/hexpm/specifications, package_tarball.md and package_metadata.md. What it says
of itself is read out of DIRECTORY/src/NAME.app.src. Needs SOURCE_DATE_EPOCH.
"""
import gzip
import hashlib
import io
import os
import pathlib
import re
import sys
import tarfile

FORMAT = b"3"


def archive(files):
    """A tar file of names and contents."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mtime = int(os.environ["SOURCE_DATE_EPOCH"])
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def text(value):
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'<<"{escaped}"/utf8>>'


def texts(values):
    return "[" + ",".join(text(value) for value in values) + "]"


target, directory = sys.argv[1], pathlib.Path(sys.argv[2])
[described] = directory.glob("src/*.app.src")
terms = described.read_text(encoding="utf-8")
name = re.search(r"\{application, (\w+),", terms)[1]
names = sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())
metadata = "".join(f"{{{text(key)},{value}}}.\n" for key, value in (
    ("name", text(name)),
    ("version", text(re.search(r'\{vsn, "([^"]*)"\}', terms)[1])),
    ("app", text(name)),
    ("description", text(re.search(r'\{description, "([^"]*)"\}', terms)[1])),
    ("files", texts(names)),
    ("licenses", texts(re.findall(r'"([^"]*)"', re.search(r"\{licenses, \[(.*)\]\}", terms)[1]))),
    ("requirements", "[]"),
    ("build_tools", texts(["rebar3"])),
)).encode()
contents = gzip.compress(archive((name, (directory / name).read_bytes()) for name in names), mtime=0)
checksum = hashlib.sha256(FORMAT + metadata + contents).hexdigest().upper().encode()
pathlib.Path(target).write_bytes(archive([
    ("VERSION", FORMAT),
    ("CHECKSUM", checksum),
    ("metadata.config", metadata),
    ("contents.tar.gz", contents),
]))
