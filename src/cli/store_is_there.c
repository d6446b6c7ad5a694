/* SPDX-License-Identifier: Apache-2.0 */
/* Of the stores that opening makes, those that are files: sqlite:PATH[?...], shm:NAME[?...]. */
#include "cli/store_is_there.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/slice.h"
#include "client/url.h"

struct kind {
    const char *scheme;
    const char *folder; /* of names without a slash; NULL: the working directory */
};

static const struct kind kinds[] = {{"sqlite:", NULL}, {"shm:", "/dev/shm/canal."}};

static bool path_is_there(const struct kind *kind, struct lk_slice rest) {
    bool is_name = memchr(rest.bytes, '/', rest.size) == NULL;
    char path[PATH_MAX];
    int size =
        snprintf(path, sizeof path, "%s%.*s", is_name && kind->folder != NULL ? kind->folder : "",
                 (int)rest.size, rest.bytes);

    return size <= 0 || (size_t)size >= sizeof path || rest.size == 0 || access(path, F_OK) == 0
           || errno != ENOENT;
}

static bool file_is_there(const char *url) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t size = strlen(kinds[i].scheme);
        if (strncmp(url, kinds[i].scheme, size) == 0) {
            const char *rest = url + size;
            return path_is_there(&kinds[i],
                                 (struct lk_slice){.bytes = rest, .size = strcspn(rest, "?")});
        }
    }
    return true;
}

bool lk_store_is_there(const char *url) {
    char *made = NULL;

    if (url == NULL && lk_url_default(&made, NULL) != LK_OK) {
        return true;
    }
    bool is_there = file_is_there(url != NULL ? url : made);
    free(made);
    return is_there;
}
