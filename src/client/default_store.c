/* SPDX-License-Identifier: Apache-2.0 */
/* Environment, configuration files, state directory: the first that has something to say. */
#include "client/default_store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "client/configuration.h"
#include "client/url.h"

static const char own_scheme[] = "sqlite:";
static const char no_memory[] = "no memory for a URL";
static const char store_variable[] = "LK_STORE";
static const char url_file_variable[] = "LK_STORE_URL_FILE";

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
