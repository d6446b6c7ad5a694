# SPDX-License-Identifier: Apache-2.0
"""The bill of materials of what tools/dist/run made, as SPDX 2.3 in JSON: sbom.py VERSION VERSIONS DIR.

VERSIONS is what tools/dist/sources wrote, a line `NAME VERSION` for each library that is linked in. DIR
has the files.
"""
import datetime
import hashlib
import json
import os
import pathlib
import sys

LICENCES = {
    "sqlite3": "blessing",
    "jansson": "MIT",
    "libevent": "BSD-3-Clause AND ISC",
    "hiredis": "BSD-3-Clause",
    "musl": "MIT",
}
PORTABLE = ["sqlite3", "jansson", "libevent", "hiredis"]
LIBRARY = ["sqlite3", "hiredis"]
PACKAGED = {"lockkeeper": PORTABLE, "liblockkeeper": LIBRARY, "liblockkeeper-dev": ["hiredis"]}
STATIC = ["sqlite3", "jansson", "libevent", "musl"]


def described(name, version, licence, origin):
    return {
        "SPDXID": f"SPDXRef-{name}",
        "name": name,
        "versionInfo": version,
        "downloadLocation": origin,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "filesAnalyzed": False,
    }


def delivered(path):
    content = path.read_bytes()
    return {
        "SPDXID": "SPDXRef-File-" + "".join(letter if letter.isalnum() else "-" for letter in path.name),
        "fileName": "./" + path.name,
        "checksums": [
            {"algorithm": "SHA1", "checksumValue": hashlib.sha1(content).hexdigest()},
            {"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()},
        ],
        "licenseConcluded": "NOASSERTION",
        "copyrightText": "NOASSERTION",
    }


def linked(path):
    """The libraries that are part of the file."""
    if "-static-" in path.name:
        return STATIC
    if path.suffix == ".deb":
        return PACKAGED.get(path.name.partition("_")[0].rstrip("0123456789."), [])
    has_library = path.name.endswith((".whl", "-npm.tgz", ".jar")) or "-linux-" in path.name
    return PORTABLE if has_library else []


def related(start, kind, end):
    return {"spdxElementId": start, "relationshipType": kind, "relatedSpdxElement": end}


version, versions, directory = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
libraries = dict(line.split() for line in versions.read_text("ascii").splitlines())
paths = sorted(path for path in directory.iterdir() if path.suffix != ".json" and path.name != "SHA256SUMS")
files = [delivered(path) for path in paths]
when = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
digest = hashlib.sha256(json.dumps(files).encode()).hexdigest()
relations = [related("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-lockkeeper")]
for path, file in zip(paths, files):
    relations.append(related(file["SPDXID"], "GENERATED_FROM", "SPDXRef-lockkeeper"))
    for name in linked(path):
        relations.append(related(file["SPDXID"], "STATIC_LINK", f"SPDXRef-{name}"))
json.dump(
    {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"lockkeeper-{version}",
        "documentNamespace": f"urn:sha256:{digest}",
        "creationInfo": {
            "created": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: lockkeeper-tools-dist"],
        },
        "packages": [described("lockkeeper", version, "Apache-2.0", "NOASSERTION")]
        + [
            described(name, libraries[name], licence, f"https://tracker.debian.org/pkg/{name}")
            for name, licence in sorted(LICENCES.items())
        ],
        "files": files,
        "relationships": relations,
    },
    sys.stdout,
    indent=2,
)
print()
