/* SPDX-License-Identifier: Apache-2.0 */
/* A file in memory, closed by exec, that is opened by its name in /proc. */
#include "cli/store/secret_url.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "client/default_store.h"
#include "client/url.h"

char *lk_secret_url_of(const char *url) {
    struct lk_default_store standard = {.url = NULL};
    char *copy = NULL;

    if (url != NULL || lk_default_store_find(&standard, NULL) == LK_OK) {
        copy = lk_text_copy(lk_slice_of(url != NULL ? url : standard.url));
    }
    lk_default_store_done(&standard);
    return copy;
}

static bool has_password(const char *url) {
    char *shown = lk_url_without_password(url);
    bool has_one = shown != NULL && strcmp(shown, url) != 0;

    free(shown);
    return has_one;
}

static int make_file(const char *url) {
    size_t size = strlen(url);
    int descriptor = memfd_create("lk-store", MFD_CLOEXEC);

    if (descriptor >= 0
        && (fchmod(descriptor, S_IRUSR) != 0 || write(descriptor, url, size) != (ssize_t)size)) {
        (void)close(descriptor);
        descriptor = -1;
    }
    return descriptor;
}

char *lk_secret_url_offer(const char *url) {
    static int descriptor = -1;

    if (!has_password(url)) {
        return NULL;
    }
    if (descriptor < 0) {
        descriptor = make_file(url);
    }
    return descriptor >= 0 ? lk_text_make("/proc/%ld/fd/%d", (long)getpid(), descriptor) : NULL;
}
