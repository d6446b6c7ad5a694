/* SPDX-License-Identifier: Apache-2.0 */
/* Where close_range() is refused, /proc/self/fd names what is open. */
#include "cli/run/descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

/* False: the name is no number. */
static bool read_number(const char *text, unsigned *ret_number) {
    unsigned number = 0;

    for (; *text >= '0' && *text <= '9'; text++) {
        number = number * 10 + (unsigned)(*text - '0');
    }
    *ret_number = number;
    return *text == '\0';
}

static void close_listed(int list, const char *entries, size_t size, unsigned first,
                         unsigned last) {
    for (size_t at = 0; at < size;) {
        const struct dirent64 *entry = (const void *)(entries + at);
        unsigned descriptor;

        if (read_number(entry->d_name, &descriptor) && descriptor >= first && descriptor <= last
            && descriptor != (unsigned)list) {
            close((int)descriptor);
        }
        at += entry->d_reclen;
    }
}

void lk_run_descriptors_close(unsigned first, unsigned last) {
    _Alignas(struct dirent64) char entries[2048];
    ssize_t size;

    if (close_range(first, last, 0) == 0) {
        return;
    }
    int list = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (list >= 0 && (size = getdents64(list, entries, sizeof entries)) > 0) {
        close_listed(list, entries, (size_t)size, first, last);
    }
    if (list >= 0) {
        close(list);
    }
}
