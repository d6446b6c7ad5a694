/* SPDX-License-Identifier: Apache-2.0 */
/* Store URLs: taking them apart, hiding their passwords, and the default one. */
#include "keeper/url.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/text.h"

/* ---- taking apart ---------------------------------------------------------------------------- */

static bool is_scheme_byte(char byte, bool is_first) {
    if (byte >= 'a' && byte <= 'z') {
        return true;
    }
    return !is_first && ((byte >= '0' && byte <= '9') || byte == '+' || byte == '-' || byte == '.');
}

lk_outcome lk_url_split(const char *text, struct lk_url *ret_url, lk_error *error) {
    size_t size = strnlen(text, LK_URL_BYTES_MAX + 1);
    size_t end = 0;

    if (size > LK_URL_BYTES_MAX) {
        return lk_error_set(error, LK_INVALID, "the URL of a store has at most %d bytes",
                            LK_URL_BYTES_MAX);
    }
    while (end < size && is_scheme_byte(text[end], end == 0)) {
        end++;
    }
    if (end == 0 || text[end] != ':') {
        return lk_error_set(error, LK_INVALID,
                            "a store is named by a URL that starts with a scheme, such as "
                            "sqlite:PATH");
    }
    ret_url->scheme = (struct lk_slice){.bytes = text, .size = end};
    ret_url->rest = (struct lk_slice){.bytes = text + end + 1, .size = size - end - 1};
    return LK_OK;
}

/* ---- passwords ------------------------------------------------------------------------------- */

static void cut_out(char *from, const char *to) {
    memmove(from, to, strlen(to) + 1);
}

/* scheme://user:password@host: the password ends at the last `@` of the authority. */
static void cut_user_password(char *url) {
    char *authority = strstr(url, "://");
    char *at = NULL;
    char *colon;

    if (authority == NULL) {
        return;
    }
    authority += strlen("://");
    for (char *byte = authority; *byte != '\0' && strchr("/?#", *byte) == NULL; byte++) {
        if (*byte == '@') {
            at = byte;
        }
    }
    if (at == NULL) {
        return;
    }
    colon = memchr(authority, ':', (size_t)(at - authority));
    if (colon != NULL) {
        cut_out(colon, at);
    }
}

/* ...?a=b&password=secret&c=d */
static void cut_password_options(char *url) {
    static const char name[] = "password=";
    char *option = strchr(url, '?');

    while (option != NULL) {
        char *word = option + 1;
        char *end = word + strcspn(word, "&");

        if (strncmp(word, name, strlen(name)) != 0) {
            option = *end == '&' ? end : NULL;
        } else if (*end == '&') {
            cut_out(word, end + 1);
        } else {
            *option = '\0';
            option = NULL;
        }
    }
}

char *lk_url_without_password(const char *text) {
    char *url = lk_text_copy(lk_slice_of(text));

    if (url != NULL) {
        cut_user_password(url);
        cut_password_options(url);
    }
    return url;
}

/* ---- the default ----------------------------------------------------------------------------- */

/* An absolute directory out of the environment, or NULL. Others are ignored, as XDG asks. */
static const char *directory_variable(const char *name) {
    const char *value = secure_getenv(name);

    return value != NULL && value[0] == '/' ? value : NULL;
}

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

lk_outcome lk_url_default(char **ret_url, lk_error *error) {
    const char *named = secure_getenv("LK_STORE");
    const char *state = directory_variable("XDG_STATE_HOME");
    const char *home = directory_variable("HOME");
    static const char scheme[] = "sqlite:";
    char bytes[LK_URL_BYTES_MAX];
    struct lk_text url = lk_text_in(bytes, sizeof bytes);
    lk_outcome outcome;

    if (named != NULL && named[0] != '\0') {
        *ret_url = lk_text_copy(lk_slice_of(named));
        return *ret_url != NULL ? LK_OK : lk_error_set(error, LK_INTERNAL, "no memory for a URL");
    }
    if (state == NULL && home == NULL) {
        return lk_error_set(error, LK_INVALID,
                            "no store is named, and neither XDG_STATE_HOME nor HOME says where "
                            "the default one is");
    }
    lk_text_format(&url, "%s%s%s/lockkeeper/locks.db", scheme, state != NULL ? state : home,
                   state != NULL ? "" : "/.local/state");
    if (url.is_cut) {
        return lk_error_set(error, LK_INVALID, "the path of the default store is too long");
    }
    outcome = make_directories(bytes + strlen(scheme), error);
    if (outcome != LK_OK) {
        return outcome;
    }
    *ret_url = lk_text_copy(lk_slice_of(bytes));
    return *ret_url != NULL ? LK_OK : lk_error_set(error, LK_INTERNAL, "no memory for a URL");
}
