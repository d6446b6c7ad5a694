/* SPDX-License-Identifier: Apache-2.0 */
/* Store URLs: splitting them, removing their passwords, and what a text may have meant. */
#include "client/url.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "client/store.h"
#include "engine/engine.h"

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

/* ---- in every directory ---------------------------------------------------------------------- */

/* URLs that mean the same store in every directory. */

/* A URL as it is made; nothing is added once it is too long. */
struct making {
    char bytes[LK_URL_BYTES_MAX + 1];
    struct lk_text text;
    char directory[LK_URL_BYTES_MAX]; /* the working directory, and a slash */
};

static void add(struct making *making, const char *bytes, size_t size) {
    lk_text_add(&making->text, (struct lk_slice){bytes, size});
}

static bool is_plain(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z')
           || (byte >= '0' && byte <= '9') || strchr("/-._~", byte) != NULL;
}

static void add_encoded(struct making *making, const char *text) {
    for (; *text != '\0'; text++) {
        if (is_plain(*text)) {
            add(making, text, 1);
        } else {
            lk_text_format(&making->text, "%%%02X", (unsigned)(unsigned char)*text);
        }
    }
}

/* It begins with no slash, plain or encoded. */
static bool is_relative(struct lk_slice path) {
    return path.size > 0 && path.bytes[0] != '/'
           && !(path.size >= 3 && strncasecmp(path.bytes, "%2F", 3) == 0);
}

/* What libpq takes for something else than a file is none: "system", "engine:key". */
static bool is_file_option(const struct lk_url_files *files, struct lk_slice name,
                           struct lk_slice value) {
    for (size_t i = 0; files->options != NULL && files->options[i] != NULL; i++) {
        if (lk_slice_equal(name, lk_slice_of(files->options[i]))) {
            return !lk_slice_equal(value, lk_slice_of("system"))
                   && memchr(value.bytes, ':', value.size) == NULL;
        }
    }
    return false;
}

/* The value of an option that is a URL itself. Whether it was one. */
static bool add_url(struct making *making, struct lk_slice value) {
    char inner[LK_URL_BYTES_MAX + 1];
    char *absolute;

    if (!lk_percent_decode(value, inner, sizeof inner)) {
        return false;
    }
    absolute = lk_url_absolute(inner);
    if (absolute != NULL) {
        add_encoded(making, absolute);
    }
    free(absolute);
    return absolute != NULL;
}

static void add_option(struct making *making, const struct lk_url_files *files,
                       struct lk_slice option) {
    const char *equals = memchr(option.bytes, '=', option.size);

    if (equals != NULL) {
        struct lk_slice name = {option.bytes, (size_t)(equals - option.bytes)};
        struct lk_slice value = {equals + 1, option.size - name.size - 1};

        if (is_relative(value) && is_file_option(files, name, value)) {
            add(making, name.bytes, name.size + 1);
            add_encoded(making, making->directory);
            option = value;
        } else if (files->url_option != NULL
                   && lk_slice_equal(name, lk_slice_of(files->url_option))) {
            add(making, name.bytes, name.size + 1);
            option = add_url(making, value) ? (struct lk_slice){value.bytes, 0} : value;
        }
    }
    add(making, option.bytes, option.size);
}

/* The part before the options. */
static void add_place(struct making *making, const struct lk_url_files *files,
                      struct lk_slice place) {
    bool is_path = files->is_path && is_relative(place)
                   && (!files->needs_slash || memchr(place.bytes, '/', place.size) != NULL);

    if (is_path && files->is_encoded) {
        add_encoded(making, making->directory);
    } else if (is_path) {
        add(making, making->directory, strlen(making->directory));
    }
    add(making, place.bytes, place.size);
}

/* Whether the directory can be written into the URL: unencoded, a '?' would begin the options. */
static bool is_writable_in_url(const struct lk_url_files *files, const char *directory) {
    return !files->is_path || files->is_encoded || strchr(directory, '?') == NULL;
}

static void make(struct making *making, const char *url, struct lk_slice rest,
                 const struct lk_url_files *files) {
    size_t place_size = strcspn(rest.bytes, "?");
    const char *option = rest.bytes + place_size;

    add(making, url, (size_t)(rest.bytes - url));
    add_place(making, files, (struct lk_slice){rest.bytes, place_size});
    while (*option != '\0') {
        size_t size = strcspn(option + 1, "&");

        add(making, option, 1);
        add_option(making, files, (struct lk_slice){option + 1, size});
        option += 1 + size;
    }
}

char *lk_url_absolute(const char *url) {
    const struct lk_engine_ops *ops;
    struct lk_slice rest;
    struct making *making = malloc(sizeof *making);
    char *made;

    if (making == NULL) {
        return NULL;
    }
    making->text = lk_text_in(making->bytes, sizeof making->bytes);
    if (lk_store_engine_of(url, &ops, &rest, NULL) == LK_OK && ops->files != NULL
        && getcwd(making->directory, sizeof making->directory - 1) != NULL
        && making->directory[0] == '/' && is_writable_in_url(ops->files, making->directory)) {
        if (strcmp(making->directory, "/") != 0) {
            strcat(making->directory, "/");
        }
        make(making, url, rest, ops->files);
        url = making->text.is_cut ? url : making->bytes;
    }
    made = lk_text_copy(lk_slice_of(url));
    free(making);
    return made;
}

/* ---- did you mean ---------------------------------------------------------------------------- */

/* Hints: a text with an `@` may have a password, and is never repeated. */

/* Schemes of other programs, with what comes behind the `?` of "did you mean" here. */
static const char *const others[][2] = {
    {"sqlite3", "sqlite:"}, {"file", "sqlite:"},      {"unix", "lk+unix:"}, {"valkey", "redis:"},
    {"valkeys", "rediss:"}, {"pgsql", "postgresql:"}, {"memory", "mem:"},   {"lockkeeper", "lk:"},
};

static struct lk_url_hint meant(const char *scheme, struct lk_slice rest) {
    struct lk_url_hint hint = {.text = ""};
    struct lk_text text = lk_text_in(hint.text, sizeof hint.text);

    lk_text_format(&text, "; did you mean %s%.*s?", scheme, (int)rest.size, rest.bytes);
    if (text.is_cut) {
        hint.text[0] = '\0';
    }
    return hint;
}

static struct lk_url_hint nothing(void) {
    return (struct lk_url_hint){.text = ""};
}

static bool is_port(struct lk_slice text) {
    size_t size = 0;

    while (size < text.size && text.bytes[size] >= '0' && text.bytes[size] <= '9') {
        size++;
    }
    return size == text.size && size > 0 && size <= 5;
}

/* The engine's scheme that a word is most like, with its colon; NULL: none is near. */
static struct lk_url_hint like(struct lk_slice word) {
    const char *best = NULL;
    size_t best_distance = LK_LIKENESS_NONE;

    for (size_t i = 0; lk_engines[i] != NULL; i++) {
        size_t distance = lk_likeness(word.bytes, word.size, lk_engines[i]->scheme);
        if (distance < best_distance) {
            best = lk_engines[i]->scheme;
            best_distance = distance;
        }
    }
    return best != NULL ? meant(best, lk_slice_of(":")) : nothing();
}

struct lk_url_hint lk_url_hint_of_text(const char *text) {
    const char *colon = strrchr(text, ':');
    struct lk_slice all = lk_slice_of(text);

    if (all.size == 0 || strchr(text, '@') != NULL) {
        return nothing();
    }
    if (colon != NULL && colon > text && strchr(text, '/') == NULL
        && is_port(lk_slice_of(colon + 1))) {
        return meant("lk://", all);
    }
    if (colon == NULL && strpbrk(text, "/.") != NULL) {
        return meant("sqlite:", all);
    }
    return colon == NULL ? like(all) : nothing();
}

struct lk_url_hint lk_url_hint_of_scheme(const struct lk_url *url) {
    struct lk_url_hint hint = {.text = "; a service is lk://HOST:PORT, with the port of the Redis "
                                       "protocol (7420), not that of HTTP"};
    const struct lk_url_hint jdbc = {.text = "; a database is postgresql://USER@HOST/DATABASE or "
                                             "mysql://USER@HOST/DATABASE here, without jdbc:"};
    const char *text = url->scheme.bytes; /* where the URL begins */

    if (lk_slice_equal(url->scheme, lk_slice_of("http"))
        || lk_slice_equal(url->scheme, lk_slice_of("https"))) {
        return hint;
    }
    if (lk_slice_equal(url->scheme, lk_slice_of("jdbc"))) {
        return jdbc;
    }
    if (is_port(url->rest)) {
        return meant("lk://", lk_slice_of(text));
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (lk_slice_equal(url->scheme, lk_slice_of(others[i][0]))) {
            return meant(others[i][1], lk_slice_of(""));
        }
    }
    return like(url->scheme);
}
