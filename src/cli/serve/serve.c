/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lk serve: from the command line to src/server, which does all of it.
 *
 * What is said on stdout is where the doors are, once they are open, so that a script can wait for
 * that line; systemd is told the same (sd_notify), if it wants to know.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/say.h"
#include "cli/serve/bounds.h"
#include "cli/serve/secrets.h"
#include "form/form.h"

#define RESP_DEFAULT "127.0.0.1:7420"
#define HTTP_DEFAULT "127.0.0.1:7421"

enum { UNIX_BYTES = 256 };

/* ---- being ready ----------------------------------------------------------------------------- */

/* The protocol of sd_notify(3), which is one datagram. Failing is the manager's to notice. */
static void tell_manager(const char *text) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int descriptor;

    if (path == NULL || (path[0] != '/' && path[0] != '@')
        || strlen(path) >= sizeof address.sun_path) {
        return;
    }
    memcpy(address.sun_path, path, strlen(path));
    if (address.sun_path[0] == '@') {
        address.sun_path[0] = '\0';
    }
    descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor >= 0) {
        socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
        (void)sendto(descriptor, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address,
                     size);
        (void)close(descriptor);
    }
}

static void say_door(const struct lk_cli *cli, json_t *object, const char *name, const char *scheme,
                     const char *address) {
    if (address != NULL && object != NULL) {
        (void)json_object_set_new(object, name, lk_form_text(address));
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

/* For whoever sits before it; a script has asked for nothing more than where the doors are. */
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
        (void)fprintf(cli->err, "lk: in another shell: export LK_STORE=%s%s; lk ls\n",
                      unix_address != NULL ? "lk+" : "lk://",
                      unix_address != NULL ? unix_address : resp_address);
    }
}

static void ready(void *context, const char *resp_address, const char *unix_address,
                  const char *http_address) {
    const struct serving *serving = context;
    const struct lk_cli *cli = serving->cli;
    json_t *object = cli->json ? lk_form_ok() : NULL;

    say_door(cli, object, "resp", "lk://", resp_address);
    say_door(cli, object, "unix", "lk+", unix_address);
    say_door(cli, object, "http", "http://", http_address);
    if (object != NULL) {
        (void)lk_say_object(cli, LK_OK, object);
    }
    (void)fflush(cli->out);
    say_more(serving, resp_address, unix_address);
    tell_manager("READY=1\n");
}

/* SIGHUP: a password may be another one now. Without it the service goes on with what it has. */
static void reload(void *context) {
    struct serving *serving = context;
    char password[LK_SERVE_PASSWORD_BYTES];
    lk_error error;

    if (serving->password_file == NULL) {
        return;
    }
    if (lk_serve_password_read(serving->password_file, password, &error) == LK_OK) {
        memcpy(serving->password, password, sizeof password);
    } else {
        (void)fprintf(serving->cli->err, "lk: the former password stays: %s\n", error.text);
    }
    explicit_bzero(password, sizeof password);
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

static lk_outcome fill_options(const struct lk_command_line *line, char unix_address[UNIX_BYTES],
                               struct lk_server_options *options, lk_error *error) {
    const char *path = lk_command_line_text(line, LK_OPTION_UNIX);
    lk_outcome outcome = LK_OK;

    /* A socket in the file system stands in for the port, unless that is named as well. */
    options->resp_listen = address_of(line, LK_OPTION_LISTEN, path != NULL ? NULL : RESP_DEFAULT);
    if (path != NULL) {
        (void)snprintf(unix_address, UNIX_BYTES, "unix:%s", path); /* what is cut is refused */
        options->unix_listen = unix_address;
    }
    options->http_listen = address_of(line, LK_OPTION_HTTP, HTTP_DEFAULT);
    options->is_ephemeral = lk_command_line_has(line, LK_OPTION_EPHEMERAL);
    options->is_insecure = lk_command_line_has(line, LK_OPTION_INSECURE);
    for (size_t i = 0; outcome == LK_OK && i < line->listed_count; i++) {
        outcome = lk_serve_bound_set(options, line->listed[i], error);
    }
    if (outcome == LK_OK && options->resp_listen == NULL && path == NULL
        && options->http_listen == NULL) {
        outcome = lk_error_set(error, LK_INVALID, "a service without a door is none");
    }
    return outcome;
}

int lk_cli_serve(const struct lk_cli *cli, const struct lk_command_line *line) {
    struct serving serving = {.cli = cli,
                              .password_file = lk_command_line_text(line, LK_OPTION_PASSWORD_FILE)};
    struct lk_server_options options = {.ready = ready, .reload = reload, .context = &serving};
    char unix_address[UNIX_BYTES];
    char *directory = NULL;
    lk_error error = {.outcome = LK_OK};
    lk_outcome outcome;

    if (lk_command_line_has(line, LK_OPTION_STORE)) {
        return lk_say_failure(cli, LK_UNSUPPORTED,
                              "a service of this version keeps a file of its own: --dir DIR");
    }
    outcome = fill_options(line, unix_address, &options, &error);
    if (outcome == LK_OK && serving.password_file != NULL) {
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
        (void)fputs("lk: WARNING: --insecure: whoever can reach this service can take, break and "
                    "read every lock\n",
                    cli->err);
    }
    if (outcome == LK_OK) {
        outcome = lk_server_run(&options, &error);
    }
    explicit_bzero(serving.password, sizeof serving.password);
    free(directory);
    return outcome == LK_OK ? 0 : lk_say_failure(cli, outcome, error.text);
}
