/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environment, configuration files, state directory: the first that has something to say. And how a
 * configuration file is read.
 */
#include "client/default_store.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/setting.h"
#include "base/text.h"
#include "client/store.h"
#include "client/url.h"

static const char own_scheme[] = "sqlite:";
static const char no_memory[] = "no memory for a URL";
static const char store_variable[] = "LK_STORE";
static const char url_file_variable[] = "LK_STORE_URL_FILE";

/* ---- one configuration file ------------------------------------------------------------------ */

/*
 * One line after the other. A line that is not understood is refused rather than skipped: a store
 * that is named with a slip of the pen would otherwise be another store, which excludes no one.
 */
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

/* ---- where they are -------------------------------------------------------------------------- */

/* An absolute directory out of the environment, or NULL. Others are ignored, as XDG asks. */
static const char *directory_variable(const char *name) {
    const char *value = secure_getenv(name);

    return value != NULL && value[0] == '/' ? value : NULL;
}

/*
 * `file` below the directory that `variable` names, else below `otherwise` in $HOME. Whether there
 * is one; it may be cut.
 */
static bool add_user_path(struct lk_text *path, const char *variable, const char *otherwise,
                          const char *file) {
    const char *directory = directory_variable(variable);
    const char *home = directory_variable("HOME");

    if (directory == NULL && home == NULL) {
        return false;
    }
    lk_text_format(path, "%s%s/%s", directory != NULL ? directory : home,
                   directory != NULL ? "" : otherwise, file);
    return true;
}

/* ---- configuration files --------------------------------------------------------------------- */

/*
 * Whether the file cannot even be seen, in a directory of another user: as after runuser of root,
 * whose HOME stays. A directory of this user that may not be searched could hide a file that names
 * the store of others.
 */
static bool is_hidden_by_another(const char *path) {
    const char *configured = directory_variable("XDG_CONFIG_HOME");
    const char *directory = configured != NULL ? configured : directory_variable("HOME");
    struct stat status;

    return stat(path, &status) != 0 && errno == EACCES && stat(directory, &status) == 0
           && status.st_uid != geteuid();
}

static lk_outcome read_configuration(struct lk_default_store *ret_store, lk_error *error) {
    bool is_hidden = false;
    struct lk_configured_store configured = {.url = NULL};
    char bytes[PATH_MAX];
    struct lk_text path = lk_text_in(bytes, sizeof bytes);
    lk_outcome outcome = LK_OK;

    if (add_user_path(&path, "XDG_CONFIG_HOME", "/.config", "lockkeeper.conf") && !path.is_cut) {
        outcome = lk_configuration_read_own(bytes, &configured, error);
        is_hidden = outcome == LK_DENIED && is_hidden_by_another(bytes);
    }
    if ((outcome == LK_OK || is_hidden) && configured.url == NULL) {
        outcome = lk_configuration_read(LK_CONFIGURATION_FILE, &configured, error);
    }
    if (outcome == LK_OK && configured.url == NULL && is_hidden) {
        outcome = lk_error_set(error, LK_DENIED,
                               "no store is named, and this user may not look for %.200s, in a "
                               "directory of another user: set HOME (and XDG_CONFIG_HOME), or "
                               "name the store (-S, LK_STORE)",
                               bytes);
    }
    if (outcome == LK_OK && configured.url != NULL && strcmp(configured.url, LK_NO_STORE) == 0) {
        outcome = lk_error_set(
            error, LK_INVALID,
            "%s says that no store is the default; name one: -S URL, or LK_STORE", configured.at);
        free(configured.url);
        free(configured.at);
        return outcome;
    }
    *ret_store = (struct lk_default_store){.url = configured.url, .named_by = configured.at};
    return outcome;
}

/* ---- the user's own -------------------------------------------------------------------------- */

/* Makes every directory above the last component of `path`, for this user alone. */
static lk_outcome make_directories(char *path, lk_error *error) {
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        int status;

        *slash = '\0';
        status = mkdir(path, 0700);
        if (status != 0 && errno != EEXIST) {
            int cause = errno;
            lk_outcome outcome =
                cause == EACCES || cause == EPERM || cause == EROFS ? LK_DENIED : LK_UNAVAILABLE;

            lk_error_set(error, outcome, "cannot make the directory %s: %s", path, strerror(cause));
            *slash = '/';
            return outcome;
        }
        *slash = '/';
    }
    return LK_OK;
}

static lk_outcome find_own(struct lk_default_store *ret_store, lk_error *error) {
    char bytes[LK_URL_BYTES_MAX];
    struct lk_text url = lk_text_in(bytes, sizeof bytes);

    lk_text_format(&url, "%s", own_scheme);
    if (!add_user_path(&url, "XDG_STATE_HOME", "/.local/state", "lockkeeper/locks.db")) {
        return lk_error_set(error, LK_INVALID,
                            "no store is named, and neither XDG_STATE_HOME nor HOME says where "
                            "the default one is");
    }
    if (url.is_cut) {
        return lk_error_set(error, LK_INVALID, "the path of the default store is too long");
    }
    ret_store->url = lk_text_copy(lk_slice_of(bytes));
    return ret_store->url != NULL ? LK_OK : lk_error_set(error, LK_INTERNAL, no_memory);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/*
 * The URL of LK_STORE with its password, for free(), if LK_STORE_URL_FILE has it: a file of the
 * process around this one, which may have ended. NULL: it has another one, or none.
 */
static char *with_password(const char *named) {
    const char *path = secure_getenv(url_file_variable);
    char url[LK_URL_BYTES_MAX + 1];
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    char *shown;
    bool is_same;

    if (file == NULL) {
        return NULL;
    }
    url[fread(url, 1, sizeof url - 1, file)] = '\0';
    (void)fclose(file);
    shown = lk_url_without_password(url);
    is_same = shown != NULL && strcmp(shown, named) == 0;
    free(shown);
    return is_same ? lk_text_copy(lk_slice_of(url)) : NULL;
}

/* A variable that is set and empty names nothing, and is no variable that is not set. */
static lk_outcome check_set(const char *variable, const char *advice, lk_error *error) {
    const char *value = secure_getenv(variable);

    return value == NULL || value[0] != '\0'
               ? LK_OK
               : lk_error_set(error, LK_INVALID, "%s is set, but empty: %s, or unset it", variable,
                              advice);
}

lk_outcome lk_default_store_find(struct lk_default_store *ret_store, lk_error *error) {
    const char *named = secure_getenv(store_variable);
    lk_outcome outcome = check_set(
        store_variable, "give it the URL of a store (is a secret of the CI missing?)", error);

    *ret_store = (struct lk_default_store){.url = NULL};
    if (outcome == LK_OK) {
        outcome = check_set(url_file_variable, "it names a file with the store's URL", error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    if (named != NULL) {
        ret_store->url = with_password(named);
        if (ret_store->url == NULL) {
            ret_store->url = lk_text_copy(lk_slice_of(named));
        }
        ret_store->named_by = lk_text_copy(lk_slice_of(store_variable));
        if (ret_store->url != NULL && ret_store->named_by != NULL) {
            return LK_OK;
        }
        lk_default_store_done(ret_store);
        return lk_error_set(error, LK_INTERNAL, no_memory);
    }
    outcome = read_configuration(ret_store, error);
    return outcome == LK_OK && ret_store->url == NULL ? find_own(ret_store, error) : outcome;
}

lk_outcome lk_default_store_prepare(const struct lk_default_store *store, lk_error *error) {
    return store->named_by == NULL ? make_directories(store->url + strlen(own_scheme), error)
                                   : LK_OK;
}

void lk_default_store_done(struct lk_default_store *store) {
    free(store->url);
    free(store->named_by);
    *store = (struct lk_default_store){.url = NULL};
}
