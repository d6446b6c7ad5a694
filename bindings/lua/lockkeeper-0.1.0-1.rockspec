-- SPDX-License-Identifier: Apache-2.0
-- Built in this folder by `luarocks make`, against the installed liblockkeeper.
rockspec_format = "3.0"
package = "lockkeeper"
version = "0.1.0-1"
source = {url = "git+file://."}
description = {
   summary = "Locks, semaphores and work queues with leases, for processes and machines",
   license = "Apache-2.0",
}
supported_platforms = {"linux"}
dependencies = {"lua ~> 5.4"}
external_dependencies = {LOCKKEEPER = {header = "lockkeeper/lockkeeper.h", library = "lockkeeper"}}
build = {
   type = "builtin",
   modules = {
      lockkeeper = {
         sources = {
            "src/admin.c", "src/arguments.c", "src/claim.c", "src/feed.c", "src/lease.c",
            "src/lockkeeper.c", "src/objects.c", "src/queue.c", "src/requests.c", "src/threads.c",
            "src/watch.c", "src/work.c",
         },
         defines = {"_GNU_SOURCE"},
         libraries = {"lockkeeper", "pthread"},
         incdirs = {"$(LOCKKEEPER_INCDIR)"},
         libdirs = {"$(LOCKKEEPER_LIBDIR)"},
      },
   },
}
