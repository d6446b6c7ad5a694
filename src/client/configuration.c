/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line after the other. A line that is not understood is refused rather than skipped: a store
 * that is named with a slip of the pen would otherwise be another store, which excludes no one.
 */
#include "client/configuration.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/setting.h"
#include "base/text.h"
#include "client/store.h"
#include "client/url.h"

struct reading {
    const char *path;
    unsigned line;
    struct lk_configured_store *store;
    lk_error *error;
};

static lk_outcome refuse(const struct reading *reading, lk_outcome outcome, const char *what) {
    return lk_error_set(reading->error, outcome, "%s:%u: %s", reading->path, reading->line, what);
}

/* Each program that reads the file has another working directory: a relative path means nothing. */
static lk_outcome check_url(const struct reading *reading, const char *url) {
    const struct lk_engine_ops *ops;
    struct lk_slice rest;
    lk_error why;
    lk_outcome outcome = lk_store_engine_of(url, &ops, &rest, &why);

    if (outcome != LK_OK) {
        return refuse(reading, outcome, why.text);
    }
    char *absolute = lk_url_absolute(url);
    bool is_absolute = absolute != NULL && strcmp(absolute, url) == 0;
    free(absolute);
    return is_absolute ? LK_OK
                       : refuse(reading, LK_INVALID,
                                "the store has a path that is relative to the working directory; "
                                "begin it with /");
}

static lk_outcome read_store(struct reading *reading, struct lk_slice value) {
    char *url = lk_text_copy(value);
    char *at = lk_text_make("%s:%u", reading->path, reading->line);
    lk_outcome outcome = LK_OK;

    if (url == NULL || at == NULL) {
        outcome = lk_error_set(reading->error, LK_INTERNAL, "no memory for a URL");
    } else if (strcmp(url, LK_NO_STORE) != 0) {
        outcome = check_url(reading, url);
    }
    if (outcome != LK_OK) {
        free(url);
        free(at);
        return outcome;
    }
    free(reading->store->url);
    free(reading->store->at);
    *reading->store = (struct lk_configured_store){.url = url, .at = at};
    return LK_OK;
}

static lk_outcome read_line(struct reading *reading, struct lk_slice line) {
    struct lk_slice name;
    struct lk_slice value;

    switch (lk_setting_parse(line, &name, &value)) {
    case LK_SETTING_NONE:
        return LK_OK;
    case LK_SETTING_NO_TEXT:
        return refuse(reading, LK_INVALID, "a byte 0; this is no text");
    case LK_SETTING_NO_EQUALS:
        return refuse(reading, LK_INVALID, "no \"=\"; write: store = URL");
    case LK_SETTING_FOUND:
        break;
    }
    if (!lk_slice_equal(name, lk_slice_of("store"))) {
        return refuse(reading, LK_INVALID,
                      "an unknown name before \"=\"; the only one is store, as in: store = URL");
    }
    if (value.size == 0) {
        return refuse(reading, LK_INVALID,
                      "no URL; write: store = URL, or store = none, or remove the line");
    }
    return read_store(reading, value);
}

static lk_outcome read_lines(struct reading *reading, FILE *file) {
    char *bytes = NULL;
    size_t capacity = 0;
    ssize_t size;
    lk_outcome outcome = LK_OK;

    errno = 0;
    while (outcome == LK_OK && (size = getline(&bytes, &capacity, file)) >= 0) {
        reading->line++;
        outcome = read_line(reading, (struct lk_slice){bytes, (size_t)size});
    }
    if (outcome == LK_OK && ferror(file) != 0) {
        outcome = lk_error_set(reading->error, LK_UNAVAILABLE, "the configuration file %s: %s",
                               reading->path, strerror(errno));
    }
    free(bytes);
    return outcome;
}

/*
 * Who can write the file chooses the store, and so what excludes what. The group that is the user's
 * alone, by its number, may write it.
 */
static lk_outcome check_own(const char *path, FILE *file, lk_error *error) {
    struct stat status;
    bool is_private = false;

    if (fstat(fileno(file), &status) != 0) {
        return lk_error_set(error, LK_UNAVAILABLE, "the configuration file %s: %s", path,
                            strerror(errno));
    }
    if (status.st_uid != geteuid() && status.st_uid != 0) {
        return lk_error_set(error, LK_DENIED,
                            "the configuration file %s belongs to the user %u, who is neither this "
                            "one nor root: it is not used; own it, remove it, or name the store "
                            "(-S, LK_STORE)",
                            path, (unsigned)status.st_uid);
    }
    is_private = status.st_gid == getegid() && status.st_gid == (gid_t)geteuid();
    if ((status.st_mode & S_IWOTH) != 0 || ((status.st_mode & S_IWGRP) != 0 && !is_private)) {
        return lk_error_set(error, LK_DENIED,
                            "others may write the configuration file %s, and so choose the store: "
                            "it is not used: chmod go-w",
                            path);
    }
    return LK_OK;
}

static lk_outcome read_file(const char *path, bool is_own, struct lk_configured_store *ret_store,
                            lk_error *error) {
    struct lk_configured_store store = {.url = NULL};
    struct reading reading = {.path = path, .store = &store, .error = error};
    FILE *file = fopen(path, "re");
    lk_outcome outcome;

    *ret_store = store;
    if (file == NULL) {
        if (errno == ENOENT || errno == ENOTDIR) {
            return LK_OK;
        }
        return lk_error_set(error, errno == EACCES || errno == EPERM ? LK_DENIED : LK_UNAVAILABLE,
                            "the configuration file %s: %s", path, strerror(errno));
    }
    outcome = is_own ? check_own(path, file, error) : LK_OK;
    if (outcome == LK_OK) {
        outcome = read_lines(&reading, file);
    }
    (void)fclose(file);
    if (outcome != LK_OK) {
        free(store.url);
        free(store.at);
        return outcome;
    }
    *ret_store = store;
    return LK_OK;
}

lk_outcome lk_configuration_read(const char *path, struct lk_configured_store *ret_store,
                                 lk_error *error) {
    return read_file(path, false, ret_store, error);
}

lk_outcome lk_configuration_read_own(const char *path, struct lk_configured_store *ret_store,
                                     lk_error *error) {
    return read_file(path, true, ret_store, error);
}
