/* SPDX-License-Identifier: Apache-2.0 */
/* Store URLs: splitting them, and removing their passwords. */
#include "client/url.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "client/url_hint.h"

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
                            "sqlite:PATH%s",
                            lk_url_hint_of_text(text).text);
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
