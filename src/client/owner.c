/* SPDX-License-Identifier: Apache-2.0 */
/* Fresh owners (R3): readable pieces that name host and thread, and a unique number. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/random.h"
#include "base/text.h"
#include "lockkeeper/lockkeeper.h"

enum {
    OWNER_BYTES_MAX = 128,
    HOST_BYTES_MAX = 48,
    BOOT_BYTES = 8, /* of the boot's UUID: enough to tell the boots of one host apart */
};

/* The host's name up to HOST_BYTES_MAX, with only what is safe to print. */
static void add_host(struct lk_text *owner) {
    char host[HOST_BYTES_MAX + 1];

    if (gethostname(host, sizeof host) != 0 && errno != ENAMETOOLONG) {
        host[0] = '\0';
    }
    host[HOST_BYTES_MAX] = '\0';
    for (char *byte = host; *byte != '\0'; byte++) {
        if (*byte <= ' ' || *byte > '~') {
            *byte = '_';
        }
    }
    lk_text_format(owner, "%s", host[0] != '\0' ? host : "localhost");
}

static void add_boot(struct lk_text *owner) {
    char boot[BOOT_BYTES + 1] = "";
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t size = 0;

    if (file >= 0) {
        size = read(file, boot, BOOT_BYTES);
        (void)close(file);
    }
    lk_text_format(owner, ".%s", size == BOOT_BYTES ? boot : "boot");
}

void lk_owner_make(char ret_owner[129]) {
    struct lk_text owner = lk_text_in(ret_owner, OWNER_BYTES_MAX + 1);

    add_host(&owner);
    lk_text_format(&owner, ".%jd.%jd", (intmax_t)getpid(), (intmax_t)gettid());
    add_boot(&owner);
    lk_text_format(&owner, ".%016" PRIx64, lk_random_draw());
}
