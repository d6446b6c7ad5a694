# SPDX-License-Identifier: Apache-2.0
"""An archive that is the same for the same files: zip.py FILE DIRECTORY. A jar's manifest comes first."""
import os
import pathlib
import sys
import time
import zipfile

target, directory = sys.argv[1], pathlib.Path(sys.argv[2])
when = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
names = sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())
names.sort(key=lambda name: name != "META-INF/MANIFEST.MF")
with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
    for name in names:
        entry = zipfile.ZipInfo(name, when)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = 0o644 << 16
        archive.writestr(entry, (directory / name).read_bytes())
