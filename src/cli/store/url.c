/* SPDX-License-Identifier: Apache-2.0 */
/* Stores that are files, the store of one user alone, and a file in memory for a password. */
#include "cli/store/url.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/program.h"
#include "base/slice.h"
#include "base/text.h"
#include "client/default_store.h"
#include "client/store.h"
#include "client/url.h"

/* ---- stores that exist already --------------------------------------------------------------- */

/* Of those that opening makes, these are files: sqlite:PATH[?...], shm:NAME[?...]. */

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

/* LK_NONE: there is no such file. LK_INVALID: nor can there be one. Else LK_OK. */
static lk_outcome find(const char *url, lk_error *error) {
    struct lk_default_store standard = {.url = NULL};
    lk_outcome outcome = LK_OK;

    if (url == NULL && lk_default_store_find(&standard, NULL) != LK_OK) {
        return LK_OK;
    }
    url = url != NULL ? url : standard.url;
    if (!file_is_there(url)) {
        outcome = lk_store_check_url(url, error);
        outcome =
            outcome == LK_OK ? lk_error_set(error, LK_NONE, "there is no such store") : outcome;
    }
    lk_default_store_done(&standard);
    return outcome;
}

bool lk_store_is_there(const char *url) {
    return find(url, NULL) != LK_NONE;
}

bool lk_store_binds_to_process(const char *url) {
    struct lk_default_store standard = {.url = NULL};
    const struct lk_engine_ops *ops;
    struct lk_slice rest;
    bool binds = false;

    if (url != NULL || lk_default_store_find(&standard, NULL) == LK_OK) {
        binds = lk_store_engine_of(url != NULL ? url : standard.url, &ops, &rest, NULL) == LK_OK
                && (ops->capabilities & (unsigned)LK_BINDS_TO_PROCESS) != 0;
    }
    lk_default_store_done(&standard);
    return binds;
}

lk_outcome lk_open_if_there(const char *url, lk_cancel *cancel, lk_store **ret_store,
                            lk_error *error) {
    lk_outcome outcome = find(url, error);

    return outcome == LK_OK ? lk_store_open_existing(url, cancel, ret_store, error) : outcome;
}

/* ---- a store of one user alone --------------------------------------------------------------- */

struct lk_own_store lk_own_store_find(const char *url) {
    struct lk_default_store standard = {.url = NULL};
    struct lk_own_store own = {.url = NULL};

    if (url == NULL && lk_default_store_find(&standard, NULL) == LK_OK
        && standard.named_by == NULL) {
        own =
            (struct lk_own_store){.url = standard.url, .is_new = !lk_store_is_there(standard.url)};
        standard.url = NULL;
    }
    lk_default_store_done(&standard);
    return own;
}

void lk_own_store_say_new(const struct lk_own_store *own, FILE *err) {
    if (own->is_new) {
        (void)fprintf(err,
                      "%s: made %s, the store of this user alone; for several users see "
                      "lockkeeper.conf(5)\n",
                      lk_program(), own->url);
    }
}

void lk_own_store_done(struct lk_own_store *own) {
    free(own->url);
    own->url = NULL;
}

/* ---- a password in a URL --------------------------------------------------------------------- */

/* A file in memory, closed by exec, that is opened by its name in /proc. */

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
