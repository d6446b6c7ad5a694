/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a store's URL. No part of it appears in a message, since it may contain a password. */
#include "engine/postgresql/address.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/setting.h"
#include "base/text.h"

enum { URL_BYTES_MAX = 8192 };

static lk_outcome set_schema(struct lk_postgresql_address *address, struct lk_slice value,
                             lk_error *error) {
    lk_outcome outcome = lk_sql_check_schema(value, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    memcpy(address->schema, value.bytes, value.size);
    address->schema[value.size] = '\0';
    return LK_OK;
}

/*
 * libpq ends the password at the first `@`, takes what follows as a host name, and shows it in a
 * message if there is no such host. So the URL, without its options, may contain one `@` only, and
 * no `/` or `?` before it.
 */
static bool is_ambiguous(struct lk_slice rest) {
    char before = '\0'; /* the last of the three characters seen */

    for (size_t i = 2; i < rest.size; i++) {
        char byte = rest.bytes[i];
        if (byte == '@' && before != '\0') {
            return true;
        }
        if ((byte == '?' && before != '\0') || (byte == '/' && before == '?')) {
            return false; /* the options have begun */
        }
        before = byte == '@' || byte == '/' || byte == '?' ? byte : before;
    }
    return false;
}

static lk_outcome refuse_ambiguous(lk_error *error) {
    return lk_error_set(error, LK_INVALID,
                        "in a PostgreSQL URL an @ of user, password or database is written %%40, "
                        "a / %%2F, and a ? %%3F");
}

static lk_outcome set_listen(struct lk_postgresql_address *address, struct lk_slice value,
                             lk_error *error) {
    char *url = lk_url_decode(value);

    if (url == NULL
        || (strcmp(url, "no") != 0 && strncmp(url, "postgresql://", 13) != 0
            && strncmp(url, "postgres://", 11) != 0)) {
        free(url);
        return lk_error_set(error, LK_INVALID,
                            "listen= is the URL of a direct connection (postgresql://..., with "
                            "? and & in it written as %%3F and %%26), or no");
    }
    if (strcmp(url, "no") != 0 && is_ambiguous(lk_slice_of(strstr(url, "//")))) {
        free(url);
        return refuse_ambiguous(error);
    }
    free(address->listen_url);
    address->listen_url = url;
    return LK_OK;
}

/* The role that may own the store; it becomes part of a text of SQL. */
static lk_outcome set_owner(struct lk_postgresql_address *address, struct lk_slice value,
                            lk_error *error) {
    char *role = lk_url_decode(value);
    size_t size = role != NULL ? strlen(role) : 0;

    if (size == 0 || size > LK_POSTGRESQL_ROLE_MAX || strpbrk(role, "'\\$\n") != NULL) {
        free(role);
        return lk_error_set(error, LK_INVALID,
                            "owner= is the name of the role that owns the store, up to %d bytes, "
                            "without quotes, backslashes and dollar signs",
                            LK_POSTGRESQL_ROLE_MAX);
    }
    memcpy(address->owner, role, size + 1);
    free(role);
    return LK_OK;
}

static lk_outcome take_options(struct lk_postgresql_address *address, struct lk_slice options,
                               struct lk_text *url, lk_error *error) {
    char separator = '?';
    lk_outcome outcome = LK_OK;

    while (options.size > 0 && outcome == LK_OK) {
        struct lk_slice all = options;
        struct lk_url_option option = lk_url_option_next(&options);
        if (lk_url_option_is(&option, "schema")) {
            outcome = set_schema(address, option.value, error);
        } else if (lk_url_option_is(&option, "owner")) {
            outcome = set_owner(address, option.value, error);
        } else if (lk_url_option_is(&option, "listen")) {
            outcome = set_listen(address, option.value, error);
        } else if (option.name.size > 0) {
            size_t size = all.size - options.size - (options.size > 0 ? 1 : 0);
            lk_text_add(url, (struct lk_slice){&separator, 1});
            lk_text_add(url, (struct lk_slice){all.bytes, size});
            separator = '&';
        }
    }
    return outcome;
}

/* Keeps both URLs. The listener uses the same URL as the calls unless `listen` names another. */
static lk_outcome keep(struct lk_postgresql_address *address, const char *url, lk_error *error) {
    address->url = lk_text_copy(lk_slice_of(url));
    if (address->listen_url == NULL) {
        address->listen_url = lk_text_copy(lk_slice_of(url));
    } else if (strcmp(address->listen_url, "no") == 0) {
        free(address->listen_url);
        address->listen_url = NULL;
        return address->url != NULL ? LK_OK
                                    : lk_error_set(error, LK_INTERNAL, "no memory for a URL");
    }
    if (address->url == NULL || address->listen_url == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for a URL");
    }
    return LK_OK;
}

lk_outcome lk_postgresql_address_parse(struct lk_slice rest,
                                       struct lk_postgresql_address *ret_address, lk_error *error) {
    struct lk_postgresql_address address = {.schema = LK_POSTGRESQL_SCHEMA_DEFAULT};
    const char *mark = rest.size > 0 ? memchr(rest.bytes, '?', rest.size) : NULL;
    size_t size = mark != NULL ? (size_t)(mark - rest.bytes) : rest.size;
    struct lk_slice options = {mark, 0};
    char bytes[URL_BYTES_MAX];
    struct lk_text url = lk_text_in(bytes, sizeof bytes);
    lk_outcome outcome;

    if (size < 2 || memcmp(rest.bytes, "//", 2) != 0) {
        return lk_error_set(error, LK_INVALID,
                            "a PostgreSQL store is postgresql://[USER@]HOST[:PORT]/DATABASE"
                            "[?schema=NAME][&OPTION=VALUE...]");
    }
    if (is_ambiguous(rest)) {
        return refuse_ambiguous(error);
    }
    if (mark != NULL) {
        options = (struct lk_slice){mark + 1, rest.size - size - 1};
    }
    lk_text_format(&url, "postgresql:");
    lk_text_add(&url, (struct lk_slice){rest.bytes, size});
    outcome = take_options(&address, options, &url, error);
    if (outcome == LK_OK && url.is_cut) {
        outcome = lk_error_set(error, LK_INVALID, "the URL is too long");
    }
    if (outcome == LK_OK) {
        outcome = keep(&address, bytes, error);
    }
    if (outcome != LK_OK) {
        lk_postgresql_address_done(&address);
        return outcome;
    }
    *ret_address = address;
    return LK_OK;
}

void lk_postgresql_address_done(struct lk_postgresql_address *address) {
    free(address->url);
    free(address->listen_url);
}
