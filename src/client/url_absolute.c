/* SPDX-License-Identifier: Apache-2.0 */
/* URLs that mean the same store in every directory. */
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "client/store.h"
#include "client/url.h"

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
