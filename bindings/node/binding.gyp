# SPDX-License-Identifier: Apache-2.0
# What `npm install` builds, against the installed liblockkeeper.
{
  "targets": [
    {
      "target_name": "lockkeeper",
      "sources": [
        "src/admin.c", "src/arguments.c", "src/call.c", "src/claim.c", "src/home.c", "src/queue.c",
        "src/request.c", "src/store.c", "src/watch.c", "src/work.c",
      ],
      "defines": ["_GNU_SOURCE", "NAPI_VERSION=8"],
      "cflags": ["-std=c17", "<!@(pkg-config --cflags lockkeeper)"],
      # Its threads outlive the workers of worker_threads that have loaded it. The library is found where it
      # was when this was compiled, be it a directory of the linker's or not.
      "ldflags": ["-Wl,-z,nodelete", "-Wl,-rpath,<!(pkg-config --variable=libdir lockkeeper)"],
      "libraries": ["<!@(pkg-config --libs lockkeeper)"],
    },
  ],
}
