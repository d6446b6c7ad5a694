/* SPDX-License-Identifier: Apache-2.0 */
/* Store URLs: splitting them, removing their passwords, and the default URL. */
#include "client/url.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/percent.h"
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

/* //user:password@host: the password ends at the last `@` of the authority. */
static void cut_user_password(char *url) {
    char *authority = strstr(url, "://");
    char *at = NULL;
    char *colon;

    if (authority == NULL) {
        return;
    }
    authority += strlen("://");
    for (char *byte = authority; *byte != '\0' && *byte != '/' && *byte != '?'; byte++) {
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

static bool is_option(struct lk_slice word, const char *name) {
    const char *equals = memchr(word.bytes, '=', word.size);
    char decoded[sizeof "sslpassword"]; /* the longest that is asked for */

    return equals != NULL
           && lk_percent_decode((struct lk_slice){word.bytes, (size_t)(equals - word.bytes)},
                                decoded, sizeof decoded)
           && strcmp(decoded, name) == 0;
}

static void cut_password_options(char *url, bool is_outer);

/* A URL that is the value of an option becomes no longer: what has to be encoded was so before. */
static void cut_nested_password(char *value, char *end) {
    char decoded[LK_URL_BYTES_MAX];
    char encoded[LK_URL_BYTES_MAX];
    struct lk_text text = lk_text_in(encoded, sizeof encoded);

    if (!lk_percent_decode((struct lk_slice){value, (size_t)(end - value)}, decoded,
                           sizeof decoded)) {
        cut_out(value, end); /* no engine accepts it */
        return;
    }
    cut_user_password(decoded);
    cut_password_options(decoded, false);
    for (const char *byte = decoded; *byte != '\0'; byte++) {
        if (*byte == '%' || *byte == '&') {
            lk_text_format(&text, "%%%02X", (unsigned int)*byte);
        } else {
            lk_text_add(&text, (struct lk_slice){byte, 1});
        }
    }
    if (!text.is_cut) {
        memcpy(value, encoded, strlen(encoded));
        cut_out(value + strlen(encoded), end);
    }
}

/* ...?a=b&password=secret&c=d, and in `listen`, which is a URL again. */
static void cut_password_options(char *url, bool is_outer) {
    char *option = strchr(url, '?');

    while (option != NULL) {
        char *word = option + 1;
        char *end = word + strcspn(word, "&");
        struct lk_slice all = {word, (size_t)(end - word)};

        if (is_option(all, "password") || is_option(all, "sslpassword")) {
            if (*end == '\0') {
                *option = '\0';
                return;
            }
            cut_out(word, end + 1);
            continue;
        }
        if (is_outer && is_option(all, "listen")) {
            cut_nested_password(strchr(word, '=') + 1, end);
            end = word + strcspn(word, "&");
        }
        option = *end == '&' ? end : NULL;
    }
}

char *lk_url_without_password(const char *text) {
    char *url = lk_text_copy(lk_slice_of(text));

    if (url != NULL) {
        cut_user_password(url);
        cut_password_options(url, true);
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
