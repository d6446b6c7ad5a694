/* SPDX-License-Identifier: Apache-2.0 */
/* Settings first, then the files that the settings in force name. */
#include "cli/serve/reload.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/serve/manager.h"
#include "cli/serve/tls.h"
#include "cli/serve/users.h"
#include "server/log/log.h"

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
    outcome = lk_serve_users_read(path, &file, error);
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
