/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings first, then the files that the settings in force name. Before that, what the service
 * manager is told.
 */
#include "cli/serve/reload.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "access/secrets.h"
#include "access/users.h"
#include "base/error.h"
#include "base/program.h"
#include "base/text.h"
#include "cli/parse/value.h"
#include "cli/serve/secrets.h"
#include "server/log/log.h"

/* ---- the service manager --------------------------------------------------------------------- */

/*
 * systemd, or what speaks like it. libsystemd's sd_notify() blocks while the manager's socket is
 * full. A service must not: a manager that is busy, or stopped, would hold up every client.
 */

enum { TEXT_BYTES = 64 };

#define BEAT_US INT64_C(1000000) /* where no watchdog asks for more */

/* What is still to be sent. "": nothing. */
static char kept[LK_SERVE_STATE_COUNT][TEXT_BYTES];

/*
 * The protocol of sd_notify(3), which is one datagram. False: there is no room for it now. Any
 * other failure is final.
 */
static bool send_text(const char *text) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    bool is_full;
    int descriptor;

    if (path == NULL || (path[0] != '/' && path[0] != '@')
        || strlen(path) >= sizeof address.sun_path) {
        return true;
    }
    memcpy(address.sun_path, path, strlen(path));
    if (address.sun_path[0] == '@') {
        address.sun_path[0] = '\0';
    }
    descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) {
        return true;
    }
    is_full = sendto(descriptor, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
                     (struct sockaddr *)&address,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)))
                  < 0
              && (errno == EAGAIN || errno == EWOULDBLOCK);
    (void)close(descriptor);
    return !is_full;
}

/* Whether nothing is left. */
static bool send_kept(void) {
    for (size_t i = 0; i < LK_SERVE_STATE_COUNT; i++) {
        if (kept[i][0] != '\0' && !send_text(kept[i])) {
            lk_log(LK_LOG_WARNING, "service manager",
                   "$NOTIFY_SOCKET is full; %.*s is sent again later", (int)strcspn(kept[i], "\n"),
                   kept[i]);
            return false;
        }
        kept[i][0] = '\0';
    }
    return true;
}

void lk_serve_manager_tell(enum lk_serve_state state) {
    static const char *const texts[LK_SERVE_STATE_COUNT] = {
        [LK_SERVE_READY] = "READY=1\n",
        [LK_SERVE_RELOADED] = "READY=1\n",
        [LK_SERVE_STOPPING] = "STOPPING=1\n",
    };
    struct timespec now = {.tv_sec = 0};

    if (state == LK_SERVE_RELOADING) {
        /* The time tells it from the reload before: CLOCK_MONOTONIC, as the manager reads it. */
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        (void)snprintf(kept[state], sizeof kept[state], "RELOADING=1\nMONOTONIC_USEC=%" PRId64 "\n",
                       (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
        kept[LK_SERVE_RELOADED][0] = '\0'; /* that of the reload before */
    } else {
        (void)snprintf(kept[state], sizeof kept[state], "%s", texts[state]);
    }
    (void)send_kept();
}

/* The manager ends the service without WATCHDOG=1 for so long; 0: it has no watchdog. */
static int64_t watchdog_us(void) {
    const char *time = getenv("WATCHDOG_USEC");
    const char *pid = getenv("WATCHDOG_PID");
    int64_t number = 0;
    lk_error error;

    if (time == NULL || lk_number_parse(time, 1, INT64_MAX, &number, &error) != LK_OK) {
        return 0;
    }
    if (pid != NULL && strtoll(pid, NULL, 10) != (long long)getpid()) {
        return 0;
    }
    return number;
}

int64_t lk_serve_manager_beat_every_us(void) {
    int64_t half_us = watchdog_us() / 2;

    if (getenv("NOTIFY_SOCKET") == NULL) {
        return 0;
    }
    return half_us > 0 ? half_us : BEAT_US;
}

/* A WATCHDOG=1 without room is not kept: the next one is due soon. */
void lk_serve_manager_beat(void) {
    if (send_kept() && watchdog_us() > 0 && !send_text("WATCHDOG=1\n")) {
        lk_log(LK_LOG_WARNING, "service manager",
               "$NOTIFY_SOCKET is full; WATCHDOG=1 was not sent");
    }
}

/* ---- the file of users ----------------------------------------------------------------------- */

/* Users out of a file that only its owner may write. */

static lk_outcome explain(const char *path, int problem, lk_error *error) {
    return lk_error_set(error, problem == EACCES || problem == EPERM ? LK_DENIED : LK_INVALID,
                        "--users %s: %s", path, strerror(problem));
}

static lk_outcome check_file(const char *path, int descriptor, lk_error *error) {
    struct stat status;

    if (fstat(descriptor, &status) != 0) {
        return explain(path, errno, error);
    }
    if (!S_ISREG(status.st_mode)) {
        return lk_error_set(error, LK_INVALID, "--users %s: this is no regular file", path);
    }
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return lk_error_set(error, LK_DENIED,
                            "--users %s: others may write it, and make themselves users: "
                            "chmod 600",
                            path);
    }
    return LK_OK;
}

/* Reads up to `max` bytes. The number; less than 0: errno says why not. */
static ssize_t read_all(int descriptor, char *ret_bytes, size_t max) {
    size_t size = 0;

    while (size < max) {
        ssize_t piece = read(descriptor, ret_bytes + size, max - size);

        if (piece == 0 || (piece < 0 && errno != EINTR)) {
            return piece < 0 ? -1 : (ssize_t)size;
        }
        size += piece > 0 ? (size_t)piece : 0;
    }
    return (ssize_t)size;
}

static lk_outcome check_hashes(const char *path, const struct lk_users_file *file,
                               lk_error *error) {
    for (size_t i = 0; i < file->count; i++) {
        const struct lk_user_entry *entry = &file->entries[i];

        for (size_t k = 0; k < entry->secret_count; k++) {
            if (entry->secrets[k].kind == LK_SECRET_PASSWORD
                && !lk_password_hash_is_known(entry->secrets[k].hash)) {
                return lk_error_set(error, LK_INVALID,
                                    "%s:%u: libcrypt does not know the method of this hash; make "
                                    "another one by %s passwd",
                                    path, entry->line, lk_program());
            }
        }
    }
    return LK_OK;
}

static lk_outcome parse(const char *path, struct lk_slice text, struct lk_users_file **ret_file,
                        lk_error *error) {
    lk_error why;
    unsigned line;
    lk_outcome outcome = lk_users_file_parse(text, ret_file, &line, &why);

    if (outcome != LK_OK) {
        return line > 0 ? lk_error_set(error, outcome, "%s:%u: %s", path, line, why.text)
                        : lk_error_set(error, outcome, "--users %s: %s", path, why.text);
    }
    outcome = check_hashes(path, *ret_file, error);
    if (outcome != LK_OK) {
        lk_users_file_free(*ret_file);
    }
    return outcome;
}

/*
 * Reads and parses the file, and checks that the methods of its hashes are known here. LK_OK with
 * *ret_file, for lk_users_apply(); LK_DENIED: it must not be read, or others may write it;
 * LK_INVALID: no file of users, with its line; LK_UNSUPPORTED: a library is not installed.
 */
static lk_outcome read_users_file(const char *path, struct lk_users_file **ret_file,
                                  lk_error *error) {
    int descriptor = -1;
    size_t max = LK_USERS_FILE_BYTES_MAX + 1;
    char *bytes = malloc(max);
    lk_outcome outcome = lk_secrets_load(error);
    ssize_t size;

    if (outcome == LK_OK && bytes == NULL) {
        outcome = lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    if (outcome == LK_OK) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        outcome =
            descriptor < 0 ? explain(path, errno, error) : check_file(path, descriptor, error);
    }
    if (outcome == LK_OK) {
        size = read_all(descriptor, bytes, max);
        outcome = size < 0 ? explain(path, errno, error)
                           : parse(path, (struct lk_slice){bytes, (size_t)size}, ret_file, error);
    }
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    free(bytes);
    return outcome;
}

/* ---- reading again --------------------------------------------------------------------------- */

#define BIT(name) LK_OPTION_BIT(LK_OPTION_##name)

/* What lk_server_change() takes, and what is read again by itself. */
#define TAKEN (BIT(LOG_LEVEL) | BIT(LOG_FORMAT) | BIT(SLOW_LOG) | BIT(BOUND) | BIT(ALLOW_HOST))
/* Files: others can be named, but none where there was one, and none where there was none. */
#define FILES (BIT(PASSWORD_FILE) | BIT(USERS) | BIT(TLS_CERT) | BIT(TLS_KEY))
/* The authorities may come and go. */
#define FILES_AT_WILL BIT(TLS_CA)

enum { NAMES_BYTES = 256 };

/* The settings in force. */
static const struct lk_command_line *line_of(const struct lk_serve_reloadable *reloadable) {
    return reloadable->settings.line.command != NULL ? &reloadable->settings.line
                                                     : reloadable->started;
}

/* ---- settings -------------------------------------------------------------------------------- */

static bool differs(const struct lk_command_line *a, const struct lk_command_line *b,
                    enum lk_option_id id) {
    const char *of_a = lk_command_line_text(a, id);
    const char *of_b = lk_command_line_text(b, id);

    if (lk_command_line_has(a, id) != lk_command_line_has(b, id)) {
        return true;
    }
    return (FILES & LK_OPTION_BIT(id)) == 0 && lk_command_line_has(a, id) && of_a != NULL
           && of_b != NULL && strcmp(of_a, of_b) != 0;
}

/* The settings that are other ones than at the start, and stay as they were then. */
static void tell_of_others(const struct lk_serve_reloadable *reloadable,
                           const struct lk_command_line *line,
                           const struct lk_server_options *options) {
    const struct lk_command_line *started = reloadable->started;
    struct lk_serve_options former = {.server = {.is_ephemeral = false}};
    char bytes[NAMES_BYTES];
    struct lk_text names = lk_text_in(bytes, sizeof bytes);

    for (int id = 0; id < LK_OPTION_COUNT; id++) {
        if ((line->command->options & LK_OPTION_BIT(id) & ~(TAKEN | FILES_AT_WILL)) != 0
            && differs(started, line, (enum lk_option_id)id)) {
            lk_text_format(&names, "%s%s", names.size > 0 ? ", " : "",
                           lk_option_at((enum lk_option_id)id)->name);
        }
    }
    if (lk_serve_options_fill(started, &former, NULL) == LK_OK
        && former.server.request_seconds_max != options->request_seconds_max) {
        lk_text_format(&names, "%sbound request-seconds", names.size > 0 ? ", " : "");
    }
    if (names.size > 0) {
        lk_log(LK_LOG_WARNING, "reload",
               "these settings change only when the service is restarted: %s", bytes);
    }
}

/* LK_OK with the settings and what follows from them; nothing has changed yet. */
static lk_outcome read_settings(const struct lk_serve_reloadable *reloadable,
                                struct lk_serve_settings *settings,
                                struct lk_serve_options *options, lk_error *error) {
    lk_outcome outcome = lk_serve_settings_read_again(reloadable->given, settings, error);

    return outcome == LK_OK ? lk_serve_options_fill(&settings->line, options, error) : outcome;
}

static void take_settings(struct lk_serve_reloadable *reloadable, struct lk_server *server,
                          struct lk_serve_settings *settings, struct lk_serve_options *options) {
    struct lk_serve_settings former = reloadable->settings;

    memcpy(reloadable->hosts, options->hosts, sizeof reloadable->hosts);
    options->server.hosts = reloadable->hosts;
    lk_server_change(server, &options->server);
    reloadable->settings = *settings;
    lk_serve_settings_free(&former);
    lk_log(LK_LOG_INFO, "reload", "the settings were read again");
    tell_of_others(reloadable, &reloadable->settings.line, &options->server);
}

static void read_settings_again(struct lk_serve_reloadable *reloadable, struct lk_server *server) {
    struct lk_serve_settings settings;
    struct lk_serve_options options = {.server = {.is_ephemeral = false}};
    lk_error error;

    if (lk_command_line_text(reloadable->started, LK_OPTION_CONFIG) == NULL) {
        return; /* there is nothing that can have changed */
    }
    if (read_settings(reloadable, &settings, &options, &error) == LK_OK) {
        take_settings(reloadable, server, &settings, &options);
    } else {
        lk_log(LK_LOG_ERROR, "the former settings stay", "%s", error.text);
        lk_serve_settings_free(&settings);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A password may be another one now. Without it the service goes on with what it has. */
static void read_password_again(struct lk_serve_reloadable *reloadable) {
    const char *path = lk_command_line_text(line_of(reloadable), LK_OPTION_PASSWORD_FILE);
    char password[LK_SERVE_PASSWORD_BYTES];
    lk_error error;

    if (path == NULL || reloadable->password[0] == '\0') {
        return;
    }
    if (lk_serve_password_read(path, password, &error) == LK_OK) {
        memcpy(reloadable->password, password, sizeof password);
        lk_log(LK_LOG_INFO, "reload", "the password was read again");
    } else {
        lk_log(LK_LOG_ERROR, "the former password stays", "%s", error.text);
    }
    explicit_bzero(password, sizeof password);
}

lk_outcome lk_serve_reloadable_read_users(struct lk_serve_reloadable *reloadable, lk_error *error) {
    const char *path = lk_command_line_text(line_of(reloadable), LK_OPTION_USERS);
    struct lk_users_file *file;
    lk_outcome outcome;

    if (path == NULL) {
        return LK_OK;
    }
    outcome = read_users_file(path, &file, error);
    if (outcome == LK_OK && reloadable->users == NULL) {
        reloadable->users = lk_users_new();
    }
    if (outcome == LK_OK
        && (reloadable->users == NULL || !lk_users_apply(reloadable->users, file))) {
        lk_users_file_free(file);
        outcome = lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    return outcome;
}

static void read_users_again(struct lk_serve_reloadable *reloadable) {
    lk_error error;

    if (reloadable->users == NULL
        || lk_command_line_text(line_of(reloadable), LK_OPTION_USERS) == NULL) {
        return;
    }
    if (lk_serve_reloadable_read_users(reloadable, &error) == LK_OK) {
        lk_log(LK_LOG_INFO, "reload", "the users were read again");
    } else {
        lk_log(LK_LOG_ERROR, "the former users stay", "%s", error.text);
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

void lk_serve_reload(struct lk_serve_reloadable *reloadable, struct lk_server *server) {
    lk_serve_manager_tell(LK_SERVE_RELOADING);
    read_settings_again(reloadable, server);
    read_password_again(reloadable);
    lk_serve_tls_read_again(line_of(reloadable), reloadable->tls);
    read_users_again(reloadable);
    lk_serve_manager_tell(LK_SERVE_RELOADED);
}

void lk_serve_reloadable_free(struct lk_serve_reloadable *reloadable) {
    explicit_bzero(reloadable->password, sizeof reloadable->password);
    lk_tls_context_free(reloadable->tls);
    lk_users_free(reloadable->users);
    lk_serve_settings_free(&reloadable->settings);
}
