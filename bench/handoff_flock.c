/* SPDX-License-Identifier: Apache-2.0 */
/* flock(2), on a file that all processes open. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "bench.h"
#include "handoff.h"

struct file {
    int descriptor;
};

/* Named after the program, whose children the processes are. */
static void *open_file(void) {
    struct file *file = malloc(sizeof *file);
    char path[256];

    (void)snprintf(path, sizeof path, "%s/lk-bench-flock-%d",
                   getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp", (int)getppid());
    if (file == NULL || (file->descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600)) < 0) {
        bench_give_up("%s cannot be opened", path);
    }
    return file;
}

static void lock_file(void *peer) {
    if (flock(((struct file *)peer)->descriptor, LOCK_EX) != 0) {
        bench_give_up("flock() failed");
    }
}

static void unlock_file(void *peer) {
    if (flock(((struct file *)peer)->descriptor, LOCK_UN) != 0) {
        bench_give_up("flock() failed");
    }
}

static void close_file(void *peer) {
    (void)close(((struct file *)peer)->descriptor);
    free(peer);
}

const struct handoff_peer handoff_peer = {
    .name = "flock(2)",
    .open = open_file,
    .lock = lock_file,
    .unlock = unlock_file,
    .close = close_file,
};
