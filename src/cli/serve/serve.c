/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lk serve: from the command line to src/server, which does all of it.
 *
 * The line on stdout is the addresses of the listeners, printed once they are open, so that a
 * script can wait for it. systemd is notified at the same time (sd_notify), if it asks for that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/program.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/print/say.h"
#include "cli/serve/options.h"
#include "cli/serve/reload.h"
#include "cli/serve/secrets.h"
#include "cli/serve/settings.h"
#include "client/url.h"
#include "form/form.h"
#include "server/log/log.h"

/* ---- sockets that were passed ---------------------------------------------------------------- */

/*
 * Sockets that the process that started the service has opened for it, as systemd does
 * (sd_listen_fds(3)): LISTEN_PID, LISTEN_FDS, and LISTEN_FDNAMES with the names resp, unix and
 * http.
 */

/* Reading the variables of sd_listen_fds(3), without libsystemd: it is three texts. */

enum { FIRST_DESCRIPTOR = 3 };

/* A listener: the name of its socket, its option, and its address among those of the server. */
struct socket_kind {
    const char *name;
    const char *option;
    enum lk_option_id id;
    const char **address;
};

/* The number in a variable; -1: it is none, or the variable is not there. */
static long number_in(const char *variable) {
    const char *text = getenv(variable);
    char *end = NULL;
    long number = text != NULL && text[0] != '\0' ? strtol(text, &end, 10) : -1;

    return end != NULL && *end == '\0' ? number : -1;
}

/* The listener whose socket has this name; NULL: none. */
static struct socket_kind *find(struct socket_kind *kinds, const char *name, size_t size) {
    for (size_t i = 0; i < LK_SERVE_SOCKETS_MAX; i++) {
        if (strlen(kinds[i].name) == size && memcmp(kinds[i].name, name, size) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

static lk_outcome take(struct lk_serve_options *options, struct socket_kind *kinds, long count,
                       const char *names, lk_error *error) {
    for (long i = 0; i < count; i++) {
        size_t size = strcspn(names, ":");
        struct socket_kind *kind = find(kinds, names, size);
        char *address;

        if (kind == NULL) {
            return lk_error_set(error, LK_INVALID,
                                "LISTEN_FDNAMES: \"%.*s\": the names of sockets are resp, unix "
                                "and http (systemd: FileDescriptorName=)",
                                (int)(size < 64 ? size : 64), names);
        }
        address = options->socket_addresses[kind - kinds];
        if (address[0] != '\0') {
            return lk_error_set(error, LK_INVALID, "LISTEN_FDNAMES: %s is there twice", kind->name);
        }
        (void)snprintf(address, LK_SERVE_SOCKET_BYTES, "fd:%ld", FIRST_DESCRIPTOR + i);
        names += size + (names[size] == ':');
    }
    return LK_OK;
}

static lk_outcome use(const struct lk_command_line *line, struct lk_serve_options *options,
                      struct socket_kind *kinds, lk_error *error) {
    for (size_t i = 0; i < LK_SERVE_SOCKETS_MAX; i++) {
        bool is_given = options->socket_addresses[i][0] != '\0';
        bool is_named = lk_command_line_has(line, kinds[i].id);

        if (is_given && is_named) {
            return lk_error_set(error, LK_INVALID,
                                "%s: a socket of the name %s was passed to the service; leave out "
                                "one of the two",
                                kinds[i].option, kinds[i].name);
        }
        if (is_given) {
            *kinds[i].address = options->socket_addresses[i];
        } else if (!is_named) {
            *kinds[i].address = NULL;
        }
    }
    return LK_OK;
}

/*
 * If there are any, puts them in the place of the listeners of these names. A listener without a
 * socket is opened only if the line names its address. The variables are removed. LK_OK; LK_INVALID
 * with what is wrong with the variables, or with the option that names a listener twice.
 */
static lk_outcome take_sockets(const struct lk_command_line *line, struct lk_serve_options *options,
                               lk_error *error) {
    struct socket_kind kinds[LK_SERVE_SOCKETS_MAX] = {
        {"resp", "--listen", LK_OPTION_LISTEN, &options->server.resp_listen},
        {"unix", "--unix", LK_OPTION_UNIX, &options->server.unix_listen},
        {"http", "--http", LK_OPTION_HTTP, &options->server.http_listen},
    };
    bool is_for_this = number_in("LISTEN_PID") == (long)getpid();
    long count = is_for_this ? number_in("LISTEN_FDS") : 0;
    const char *names = getenv("LISTEN_FDNAMES");
    lk_outcome outcome = LK_OK;

    if (count < 0) {
        return lk_error_set(error, LK_INVALID, "LISTEN_FDS is no number");
    }
    if (count > 0) {
        outcome = take(options, kinds, count, names != NULL ? names : "", error);
        if (outcome == LK_OK) {
            outcome = use(line, options, kinds, error);
        }
    }
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
    return outcome;
}

/* ---- being ready ----------------------------------------------------------------------------- */

static void say_door(const struct lk_cli *cli, struct lk_form_writer *form, const char *name,
                     const char *scheme, const char *address) {
    if (cli->json) {
        lk_form_add_text_if_any(form, name, address);
    } else if (address != NULL && !cli->quiet) {
        (void)fprintf(cli->out, "%s%s\n", scheme, address);
    }
}

/* What the server calls back with. */
struct serving {
    const struct lk_cli *cli;
    const char *directory; /* NULL: it has no file */
    bool is_shared;        /* it is one of several on a database */
    struct lk_serve_reloadable reloadable;
};

static const char *resp_scheme(const struct serving *serving) {
    return serving->reloadable.tls != NULL ? "lks" : "lk";
}

/* For a user at a terminal; a script needs only the addresses of the listeners. */
static void say_more(const struct serving *serving, const char *resp_address,
                     const char *unix_address) {
    const struct lk_cli *cli = serving->cli;

    if (cli->json || cli->quiet || isatty(fileno(cli->err)) != 1) {
        return;
    }
    if (serving->directory != NULL) {
        (void)fprintf(cli->err, "%s: keeps %s/locks.db; Ctrl-C ends it\n", lk_program(),
                      serving->directory);
    } else {
        (void)fprintf(cli->err, "%s: keeps everything in %s; Ctrl-C ends it\n", lk_program(),
                      serving->is_shared ? "the database of --store" : "memory only");
    }
    if (unix_address != NULL || resp_address != NULL) {
        char *url = unix_address != NULL
                        ? lk_text_make("lk+%s", unix_address)
                        : lk_text_make("%s://%s", resp_scheme(serving), resp_address);
        char *absolute = url != NULL ? lk_url_absolute(url) : NULL; /* that shell may be anywhere */

        (void)fprintf(cli->err, "%s: in another shell: export LK_STORE=%s; %s ls\n", lk_program(),
                      absolute != NULL ? absolute : "", lk_program());
        free(absolute);
        free(url);
    }
}

static void log_ready(const char *resp_address, const char *unix_address,
                      const char *http_address) {
    struct lk_log_field fields[3];
    size_t count = 0;

    if (resp_address != NULL) {
        fields[count++] = (struct lk_log_field){"resp", resp_address};
    }
    if (unix_address != NULL) {
        fields[count++] = (struct lk_log_field){"unix", unix_address};
    }
    if (http_address != NULL) {
        fields[count++] = (struct lk_log_field){"http", http_address};
    }
    lk_log_fields(LK_LOG_INFO, "ready", fields, count, "version %s", lk_version());
}

/* A socket in the file system stays plain. */
static bool is_encrypted(const struct serving *serving, const char *address) {
    return serving->reloadable.tls != NULL && address != NULL && strncmp(address, "unix:", 5) != 0;
}

static void ready(void *context, const char *resp_address, const char *unix_address,
                  const char *http_address) {
    const struct serving *serving = context;
    const struct lk_cli *cli = serving->cli;
    struct lk_object object;
    struct lk_form_writer *form = lk_object_begin(&object);

    lk_form_open_answer(form, LK_OK);
    say_door(cli, form, "resp", is_encrypted(serving, resp_address) ? "lks://" : "lk://",
             resp_address);
    say_door(cli, form, "unix", "lk+", unix_address);
    say_door(cli, form, "http", is_encrypted(serving, http_address) ? "https://" : "http://",
             http_address);
    lk_form_close(form);
    if (cli->json) {
        (void)lk_say_object(cli, LK_OK, &object);
    }
    lk_buffer_done(&object.bytes);
    (void)fflush(cli->out);
    say_more(serving, resp_address, unix_address);
    log_ready(resp_address, unix_address, http_address);
    lk_serve_manager_tell(LK_SERVE_READY);
}

static void alive(void *context) {
    (void)context;
    lk_serve_manager_beat();
}

static void stopping(void *context) {
    (void)context;
    lk_log(LK_LOG_INFO, "stopping", "clients get their last answers");
    lk_serve_manager_tell(LK_SERVE_STOPPING);
}

static void reload(void *context, struct lk_server *server) {
    lk_serve_reload(&((struct serving *)context)->reloadable, server);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* What --insecure does without, where it may matter. */
static void warn_insecure(const struct lk_cli *cli, const struct lk_server_options *server) {
    if (!lk_server_wants_login(server)) {
        (void)fprintf(cli->err,
                      "%s: WARNING: --insecure: every client that can reach this service can take, "
                      "break and read every lock\n",
                      lk_program());
    }
    if (server->tls == NULL) {
        (void)fprintf(cli->err,
                      "%s: WARNING: --insecure: without TLS, passwords and values can be read and "
                      "changed on their way\n",
                      lk_program());
    }
}

/* The files that SIGHUP reads again. */
static lk_outcome read_files(const struct lk_command_line *line,
                             struct lk_serve_reloadable *reloadable,
                             struct lk_server_options *server, lk_error *error) {
    const char *password_file = lk_command_line_text(line, LK_OPTION_PASSWORD_FILE);
    const char *users_file = lk_command_line_text(line, LK_OPTION_USERS);
    lk_outcome outcome = LK_OK;

    if (password_file != NULL) {
        lk_serve_secrets_warn(password_file, "password");
        outcome = lk_serve_password_read(password_file, reloadable->password, error);
        server->password = reloadable->password;
    }
    if (outcome == LK_OK && users_file != NULL) {
        lk_serve_secrets_warn(users_file, "users");
        outcome = lk_serve_reloadable_read_users(reloadable, error);
        server->users = reloadable->users;
    }
    if (outcome == LK_OK) {
        outcome = lk_serve_tls_open(line, &reloadable->tls, error);
        server->tls = reloadable->tls;
    }
    return outcome;
}

/* Runs until it is told to end. `given` is the command line alone. The exit code. */
static int serve(const struct lk_cli *cli, const struct lk_command_line *given,
                 const struct lk_command_line *line) {
    struct serving serving = {.cli = cli, .reloadable = {.given = given, .started = line}};
    struct lk_serve_options options = {
        .server = {.ready = ready, .reload = reload, .stopping = stopping, .context = &serving}};
    struct lk_server_options *server = &options.server;
    char *directory = NULL;
    lk_error error = {.outcome = LK_OK};
    lk_outcome outcome;

    server->alive_every_us = lk_serve_manager_beat_every_us();
    server->alive = server->alive_every_us > 0 ? alive : NULL;
    outcome = lk_serve_options_fill(line, &options, &error);
    if (outcome == LK_OK) {
        outcome = take_sockets(line, &options, &error);
    }
    if (outcome == LK_OK) {
        outcome = lk_serve_options_check(line, server, &error);
    }
    if (outcome == LK_OK) {
        outcome = read_files(line, &serving.reloadable, server, &error);
    }
    if (outcome == LK_OK && !server->is_ephemeral && server->store_url == NULL) {
        outcome =
            lk_serve_directory_make(lk_command_line_text(line, LK_OPTION_DIR), &directory, &error);
        server->directory = directory;
        serving.directory = directory;
    }
    serving.is_shared = server->store_url != NULL;
    if (outcome == LK_OK && server->is_insecure) {
        warn_insecure(cli, server);
    }
    if (outcome == LK_OK) {
        outcome = lk_server_run(server, &error);
    }
    lk_serve_reloadable_free(&serving.reloadable);
    free(directory);
    return outcome == LK_OK ? 0 : lk_say_failure(cli, outcome, error.text);
}

int lk_cli_serve(const struct lk_cli *cli, const struct lk_command_line *line) {
    struct lk_cli own = *cli;
    struct lk_serve_settings settings;
    lk_error error = {.outcome = LK_OK};
    lk_outcome outcome;
    int code;

    outcome = lk_serve_settings_read(line, &settings, &error);
    own.quiet = lk_command_line_has(&settings.line, LK_OPTION_QUIET);
    own.json = lk_command_line_has(&settings.line, LK_OPTION_JSON);
    code = outcome == LK_OK ? serve(&own, line, &settings.line)
                            : lk_say_failure(&own, outcome, error.text);
    lk_serve_settings_free(&settings);
    return code;
}
