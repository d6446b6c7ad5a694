/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lk serve: from the command line to src/server, which does all of it.
 *
 * The line on stdout is the addresses of the listeners, printed once they are open, so that a
 * script can wait for it. systemd is notified at the same time (sd_notify), if it asks for that.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/print/say.h"
#include "cli/serve/bounds.h"
#include "cli/serve/manager.h"
#include "cli/serve/secrets.h"
#include "client/url.h"
#include "form/form.h"
#include "server/log.h"

#define RESP_DEFAULT "127.0.0.1:7420"
#define HTTP_DEFAULT "127.0.0.1:7421"

enum { UNIX_BYTES = 256, HOSTS_MAX = 64 };

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
    const char *directory;     /* NULL: it keeps everything in memory */
    const char *password_file; /* NULL: none */
    char password[LK_SERVE_PASSWORD_BYTES];
};

/* For a user at a terminal; a script needs only the addresses of the listeners. */
static void say_more(const struct serving *serving, const char *resp_address,
                     const char *unix_address) {
    const struct lk_cli *cli = serving->cli;

    if (cli->json || cli->quiet || isatty(fileno(cli->err)) != 1) {
        return;
    }
    if (serving->directory != NULL) {
        (void)fprintf(cli->err, "lk: keeps %s/locks.db; Ctrl-C ends it\n", serving->directory);
    } else {
        (void)fputs("lk: keeps everything in memory only; Ctrl-C ends it\n", cli->err);
    }
    if (unix_address != NULL || resp_address != NULL) {
        char *url = unix_address != NULL ? lk_text_make("lk+%s", unix_address)
                                         : lk_text_make("lk://%s", resp_address);
        char *absolute = url != NULL ? lk_url_absolute(url) : NULL; /* that shell may be anywhere */

        (void)fprintf(cli->err, "lk: in another shell: export LK_STORE=%s; lk ls\n",
                      absolute != NULL ? absolute : "");
        free(absolute);
        free(url);
    }
}

static void ready(void *context, const char *resp_address, const char *unix_address,
                  const char *http_address) {
    const struct serving *serving = context;
    const struct lk_cli *cli = serving->cli;
    struct lk_object object;
    struct lk_form_writer *form = lk_object_begin(&object);

    lk_form_open_answer(form, LK_OK);
    say_door(cli, form, "resp", "lk://", resp_address);
    say_door(cli, form, "unix", "lk+", unix_address);
    say_door(cli, form, "http", "http://", http_address);
    lk_form_close(form);
    if (cli->json) {
        (void)lk_say_object(cli, LK_OK, &object);
    }
    lk_buffer_done(&object.bytes);
    (void)fflush(cli->out);
    say_more(serving, resp_address, unix_address);
    lk_serve_manager_tell(LK_SERVE_READY);
}

static void alive(void *context) {
    (void)context;
    lk_serve_manager_beat();
}

static void stopping(void *context) {
    (void)context;
    lk_serve_manager_tell(LK_SERVE_STOPPING);
}

/* SIGHUP: a password may be another one now. Without it the service goes on with what it has. */
static void read_password_again(struct serving *serving) {
    char password[LK_SERVE_PASSWORD_BYTES];
    lk_error error;

    if (serving->password_file == NULL) {
        return;
    }
    if (lk_serve_password_read(serving->password_file, password, &error) == LK_OK) {
        memcpy(serving->password, password, sizeof password);
    } else {
        lk_server_log("the former password stays", "%s", error.text);
    }
    explicit_bzero(password, sizeof password);
}

static void reload(void *context) {
    lk_serve_manager_tell(LK_SERVE_RELOADING);
    read_password_again(context);
    lk_serve_manager_tell(LK_SERVE_RELOADED);
}

/* ---- the command line ------------------------------------------------------------------------ */

/* An address as given, `otherwise` if not; NULL for `none`. */
static const char *address_of(const struct lk_command_line *line, enum lk_option_id id,
                              const char *otherwise) {
    const char *address = lk_command_line_text(line, id);

    if (address == NULL) {
        return otherwise;
    }
    return strcmp(address, "none") == 0 ? NULL : address;
}

/* Whole seconds; the fraction that is cut off does not matter. */
static lk_outcome set_keepalive(const struct lk_command_line *line,
                                struct lk_server_options *options, lk_error *error) {
    int64_t keepalive_ms = lk_command_line_number(line, LK_OPTION_TCP_KEEPALIVE,
                                                  INT64_C(1000) * LK_TCP_KEEPALIVE_DEFAULT_S);

    if (keepalive_ms != 0 && keepalive_ms < INT64_C(1000) * LK_TCP_KEEPALIVE_MIN_S) {
        return lk_error_set(error, LK_INVALID, "--tcp-keepalive is 0, or %ds at least",
                            LK_TCP_KEEPALIVE_MIN_S);
    }
    options->tcp_keepalive_s =
        keepalive_ms == 0 ? LK_TCP_KEEPALIVE_NEVER : (uint32_t)(keepalive_ms / 1000);
    return LK_OK;
}

static lk_outcome add_host(struct lk_server_options *options, const char *hosts[HOSTS_MAX],
                           const char *name, lk_error *error) {
    if (name[0] == '\0' || strpbrk(name, "/@ \t") != NULL) {
        return lk_error_set(error, LK_INVALID, "--allow-host %.64s: NAME, or NAME:PORT", name);
    }
    if (options->host_count == HOSTS_MAX) {
        return lk_error_set(error, LK_INVALID, "--allow-host: %d names at most", HOSTS_MAX);
    }
    hosts[options->host_count++] = name;
    options->hosts = hosts;
    return LK_OK;
}

static lk_outcome fill_options(const struct lk_command_line *line, char unix_address[UNIX_BYTES],
                               const char *hosts[HOSTS_MAX], struct lk_server_options *options,
                               lk_error *error) {
    const char *path = lk_command_line_text(line, LK_OPTION_UNIX);
    lk_outcome outcome = set_keepalive(line, options, error);

    /* A socket in the file system replaces both ports, unless they are named as well: a socket that
     * only this user may open is no use beside a port that is open to all users. */
    options->resp_listen = address_of(line, LK_OPTION_LISTEN, path != NULL ? NULL : RESP_DEFAULT);
    if (path != NULL) {
        (void)snprintf(unix_address, UNIX_BYTES, "unix:%s", path); /* what is cut is refused */
        options->unix_listen = unix_address;
    }
    options->http_listen = address_of(line, LK_OPTION_HTTP, path != NULL ? NULL : HTTP_DEFAULT);
    options->is_ephemeral = lk_command_line_has(line, LK_OPTION_EPHEMERAL);
    options->is_insecure = lk_command_line_has(line, LK_OPTION_INSECURE);
    for (size_t i = 0; outcome == LK_OK && i < line->listed_count; i++) {
        outcome = line->listed_ids[i] == LK_OPTION_BOUND
                      ? lk_serve_bound_set(options, line->listed[i], error)
                      : add_host(options, hosts, line->listed[i], error);
    }
    if (outcome == LK_OK && options->resp_listen == NULL && path == NULL
        && options->http_listen == NULL) {
        outcome = lk_error_set(error, LK_INVALID, "no listener: name --listen, --unix or --http");
    }
    return outcome;
}

int lk_cli_serve(const struct lk_cli *cli, const struct lk_command_line *line) {
    struct serving serving = {.cli = cli,
                              .password_file = lk_command_line_text(line, LK_OPTION_PASSWORD_FILE)};
    struct lk_server_options options = {
        .ready = ready, .reload = reload, .stopping = stopping, .context = &serving};
    char unix_address[UNIX_BYTES];
    const char *hosts[HOSTS_MAX];
    char *directory = NULL;
    lk_error error = {.outcome = LK_OK};
    lk_outcome outcome;

    if (lk_command_line_has(line, LK_OPTION_STORE)) {
        return lk_say_failure(cli, LK_UNSUPPORTED,
                              "a service of this version keeps a file of its own: --dir DIR");
    }
    options.alive_every_us = lk_serve_manager_beat_every_us();
    options.alive = options.alive_every_us > 0 ? alive : NULL;
    outcome = fill_options(line, unix_address, hosts, &options, &error);
    if (outcome == LK_OK && serving.password_file != NULL) {
        lk_serve_password_warn(serving.password_file);
        outcome = lk_serve_password_read(serving.password_file, serving.password, &error);
        options.password = serving.password;
    }
    if (outcome == LK_OK && !options.is_ephemeral) {
        outcome =
            lk_serve_directory_make(lk_command_line_text(line, LK_OPTION_DIR), &directory, &error);
        options.directory = directory;
        serving.directory = directory;
    }
    if (outcome == LK_OK && options.is_insecure && options.password == NULL) {
        (void)fputs("lk: WARNING: --insecure: every client that can reach this service can take, "
                    "break and read every lock\n",
                    cli->err);
    }
    if (outcome == LK_OK) {
        outcome = lk_server_run(&options, &error);
    }
    explicit_bzero(serving.password, sizeof serving.password);
    free(directory);
    return outcome == LK_OK ? 0 : lk_say_failure(cli, outcome, error.text);
}
