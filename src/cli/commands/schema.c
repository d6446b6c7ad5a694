/* SPDX-License-Identifier: Apache-2.0 */
/* lk schema: the SQL of a store, in a dialect and for the store's own name. */
#include "sql/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/setting.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/print/say.h"
#include "client/default_store.h"
#include "client/url.h"
#include "sql/store_name.h"

struct dialect {
    const char *name; /* also the scheme of the stores' URLs, if there are such stores */
    const char *(*text)(void);
    const char *option; /* of a URL, that names the store in its database; NULL: none */
    lk_outcome (*check)(struct lk_slice name, lk_error *error);
    char *(*text_for)(const char *name);
};

#define POSTGRESQL lk_sql_schema_postgresql, "schema", lk_sql_check_schema, lk_sql_schema_in
#define MYSQL lk_sql_schema_mysql, "prefix", lk_sql_check_prefix, lk_sql_schema_with_prefix
#define MYSQL_SERVICE                                                                              \
    lk_sql_schema_mysql_service, "prefix", lk_sql_check_prefix, lk_sql_schema_service_with_prefix

static const struct dialect dialects[] = {
    {.name = "sqlite", .text = lk_sql_schema_sqlite},
    {"postgresql", POSTGRESQL},
    {"postgres", POSTGRESQL},
    {"mysql", MYSQL},
    {"mariadb", MYSQL},
    /* Of services that share a database: whether a URL is that of one of them, only they know. */
    {.name = "postgresql-service", .text = lk_sql_schema_postgresql_service},
    {"mysql-service", MYSQL_SERVICE},
    {"mariadb-service", MYSQL_SERVICE},
};

static const struct dialect *find_dialect(struct lk_slice name) {
    for (size_t i = 0; i < sizeof dialects / sizeof dialects[0]; i++) {
        if (lk_slice_equal(lk_slice_of(dialects[i].name), name)) {
            return &dialects[i];
        }
    }
    return NULL;
}

static bool is_service(struct lk_slice scheme) {
    return lk_slice_equal(scheme, lk_slice_of("lk"))
           || lk_slice_equal(scheme, lk_slice_of("lk+unix"))
           || lk_slice_equal(scheme, lk_slice_of("lks"));
}

/* The URL of the store, which need not be there yet; it lies in the line or in *ret_standard. */
static lk_outcome split_url(const struct lk_command_line *line,
                            struct lk_default_store *ret_standard, struct lk_url *ret_url,
                            lk_error *error) {
    const char *url = lk_command_line_text(line, LK_OPTION_STORE);
    lk_outcome outcome = url != NULL ? LK_OK : lk_default_store_find(ret_standard, error);

    return outcome == LK_OK ? lk_url_split(url != NULL ? url : ret_standard->url, ret_url, error)
                            : outcome;
}

/* That of the store. A service keeps its own in a SQLite file. */
static lk_outcome dialect_of_store(const struct lk_url *url, const struct dialect **ret_dialect,
                                   lk_error *error) {
    *ret_dialect = find_dialect(is_service(url->scheme) ? lk_slice_of("sqlite") : url->scheme);
    return *ret_dialect != NULL
               ? LK_OK
               : lk_error_set(error, LK_UNSUPPORTED, "a store of %.*s: is not made of SQL",
                              url->scheme.size < 32 ? (int)url->scheme.size : 32,
                              url->scheme.bytes);
}

static lk_outcome named_dialect(const char *name, const struct dialect **ret_dialect,
                                lk_error *error) {
    *ret_dialect = find_dialect(lk_slice_of(name));
    return *ret_dialect != NULL
               ? LK_OK
               : lk_error_set(
                   error, LK_INVALID,
                   "\"%s\" is no dialect; there are sqlite, postgresql and mysql, and of "
                   "services that share a database postgresql-service and mysql-service",
                   name);
}

/* The store's name in its database, by the URL; `bytes` NULL: the default. */
static struct lk_slice name_in(const struct lk_url *url, const struct dialect *dialect) {
    const char *options = memchr(url->rest.bytes, '?', url->rest.size);
    struct lk_slice rest = {options, 0};
    struct lk_slice name = {NULL, 0};

    if (options == NULL || dialect->option == NULL) {
        return name;
    }
    rest = (struct lk_slice){options + 1, url->rest.size - (size_t)(options + 1 - url->rest.bytes)};
    while (rest.size > 0) {
        struct lk_url_option option = lk_url_option_next(&rest);
        name = lk_url_option_is(&option, dialect->option) ? option.value : name;
    }
    return name;
}

/* The SQL of the dialect; for a store in such a database, with its own name. For free(). */
static lk_outcome make_text(const struct dialect *dialect, const struct lk_url *url, char **ret_sql,
                            lk_error *error) {
    const struct dialect *of_store = find_dialect(url->scheme);
    struct lk_slice name = {NULL, 0};
    lk_outcome outcome = LK_OK;
    char *copy;

    if (of_store != NULL && of_store->option != NULL && dialect->option != NULL
        && strcmp(of_store->option, dialect->option) == 0) {
        name = name_in(url, dialect);
    }
    if (name.bytes == NULL) {
        *ret_sql = lk_text_copy(lk_slice_of(dialect->text()));
    } else if ((outcome = dialect->check(name, error)) == LK_OK) {
        copy = lk_text_copy(name);
        *ret_sql = copy != NULL ? dialect->text_for(copy) : NULL;
        free(copy);
    }
    return outcome == LK_OK && *ret_sql == NULL
               ? lk_error_set(error, LK_INTERNAL, "no memory for the SQL")
               : outcome;
}

static int say_sql(const struct lk_cli *cli, const struct dialect *dialect, const char *sql) {
    struct lk_form_writer *form;
    struct lk_object object;

    if (!cli->json) {
        (void)fputs(sql, cli->out);
        return 0;
    }
    form = lk_object_begin(&object);
    lk_form_open_answer(form, LK_OK);
    lk_form_add_text(form, "dialect", dialect->name);
    lk_form_add_text(form, "sql", sql);
    lk_form_close(form);
    return lk_say_object(cli, LK_OK, &object);
}

int lk_cli_schema(const struct lk_cli *cli, const struct lk_command_line *line) {
    const char *name = line->words[0];
    const struct dialect *dialect = NULL;
    struct lk_default_store standard = {.url = NULL};
    struct lk_url url = {.scheme = {NULL, 0}};
    char *sql = NULL;
    lk_error error;
    lk_outcome outcome = split_url(line, &standard, &url, &error);
    int exit_code;

    if (name != NULL) {
        outcome = named_dialect(name, &dialect, &error); /* whatever the store is */
    } else if (outcome == LK_OK) {
        outcome = dialect_of_store(&url, &dialect, &error);
    }
    if (outcome == LK_OK) {
        outcome = make_text(dialect, &url, &sql, &error);
    }
    exit_code =
        outcome == LK_OK ? say_sql(cli, dialect, sql) : lk_say_failure(cli, outcome, error.text);
    lk_default_store_done(&standard);
    free(sql);
    return exit_code;
}
