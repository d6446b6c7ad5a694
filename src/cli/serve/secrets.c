/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that only their owner reads; passwords and certificates out of files. */
#include "cli/serve/secrets.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/program.h"
#include "base/text.h"
#include "server/log/log.h"

enum { DIRECTORY_BYTES = 4096 };

/* ---- directories ----------------------------------------------------------------------------- */

static bool write_default(char ret_directory[DIRECTORY_BYTES]) {
    const char *state = secure_getenv("XDG_STATE_HOME");
    const char *home = secure_getenv("HOME");
    struct lk_text text = lk_text_in(ret_directory, DIRECTORY_BYTES);

    if (state != NULL && state[0] == '/') {
        lk_text_format(&text, "%s/lockkeeper/service", state);
    } else if (home != NULL && home[0] == '/') {
        lk_text_format(&text, "%s/.local/state/lockkeeper/service", home);
    } else {
        return false;
    }
    return !text.is_cut;
}

/* Each of them that is not there, from the top down. Returns an errno, or 0. */
static int make_all(char *directory) {
    for (char *slash = directory; slash != NULL;) {
        slash = strchr(slash + 1, '/');
        if (slash != NULL) {
            *slash = '\0';
        }
        if (mkdir(directory, S_IRWXU) != 0 && errno != EEXIST
            && (slash == NULL || errno != EROFS)) {
            return errno;
        }
        if (slash != NULL) {
            *slash = '/';
        }
    }
    return 0;
}

/*
 * Of one that is named the last component at most: a slip of the pen, or a volume that is not
 * mounted yet, would be a new store, which has forgotten all locks.
 */
lk_outcome lk_serve_directory_make(const char *directory, char **ret_directory, lk_error *error) {
    char path[DIRECTORY_BYTES];
    struct stat status;
    int problem;

    if (directory == NULL && !write_default(path)) {
        return lk_error_set(error, LK_INVALID,
                            "neither $XDG_STATE_HOME nor $HOME says where to "
                            "keep the service's file: --dir DIR, or --ephemeral");
    }
    if (directory != NULL) {
        struct lk_text text = lk_text_in(path, sizeof path);
        lk_text_format(&text, "%s", directory);
        if (directory[0] == '\0' || text.is_cut) {
            return lk_error_set(error, LK_INVALID, "--dir: a path of 1 to %d bytes",
                                DIRECTORY_BYTES - 1);
        }
    }
    problem = directory == NULL                              ? make_all(path)
              : mkdir(path, S_IRWXU) == 0 || errno == EEXIST ? 0
                                                             : errno;
    if (directory != NULL && problem == ENOENT) {
        return lk_error_set(error, LK_INVALID,
                            "the directory above --dir does not exist; make it first, or mount "
                            "what it is on: %.256s",
                            path);
    }
    if (problem == 0 && (stat(path, &status) != 0 || !S_ISDIR(status.st_mode))) {
        problem = ENOTDIR;
    }
    if (problem != 0) {
        return lk_error_set(error,
                            problem == EACCES || problem == EPERM ? LK_DENIED : LK_UNAVAILABLE,
                            "%.256s: %s", path, strerror(problem));
    }
    *ret_directory = lk_text_copy(lk_slice_of(path));
    return *ret_directory != NULL ? LK_OK : lk_error_set(error, LK_INTERNAL, "memory is exhausted");
}

/* ---- passwords ------------------------------------------------------------------------------- */

/*
 * Only a warning: secrets that are mounted into a container are readable by all of its users, and
 * the service is its only user.
 */
void lk_serve_secrets_warn(const char *path, const char *what) {
    struct stat status;

    if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & S_IROTH) != 0) {
        (void)fprintf(stderr,
                      "%s: WARNING: every user of this machine can read the %s file %.200s: "
                      "chmod 600\n",
                      lk_program(), what, path);
    }
}

lk_outcome lk_serve_password_read(const char *path, char ret_password[LK_SERVE_PASSWORD_BYTES],
                                  lk_error *error) {
    char line[LK_SERVE_PASSWORD_BYTES];
    FILE *file = fopen(path, "re");
    bool is_read;

    if (file == NULL) {
        return lk_error_set(error, errno == EACCES ? LK_DENIED : LK_INVALID,
                            "the password file %.200s: %s", path, strerror(errno));
    }
    is_read = fgets(line, sizeof line, file) != NULL;
    (void)fclose(file);
    if (is_read) {
        line[strcspn(line, "\r\n")] = '\0';
    }
    if (!is_read || line[0] == '\0' || strlen(line) == sizeof line - 1) {
        return lk_error_set(error, LK_INVALID,
                            "the password file %.200s: its first line has 1 to %d bytes", path,
                            LK_SERVE_PASSWORD_BYTES - 2);
    }
    memcpy(ret_password, line, sizeof line);
    explicit_bzero(line, sizeof line);
    return LK_OK;
}

/* ---- certificates ---------------------------------------------------------------------------- */

static struct lk_tls_files files_of(const struct lk_command_line *line) {
    return (struct lk_tls_files){
        .certificate = lk_command_line_text(line, LK_OPTION_TLS_CERT),
        .key = lk_command_line_text(line, LK_OPTION_TLS_KEY),
        .authorities = lk_command_line_text(line, LK_OPTION_TLS_CA),
    };
}

lk_outcome lk_serve_tls_open(const struct lk_command_line *line,
                             struct lk_tls_context **ret_context, lk_error *error) {
    const struct lk_tls_files files = files_of(line);

    *ret_context = NULL;
    if (files.certificate == NULL && files.key == NULL && files.authorities == NULL) {
        return LK_OK;
    }
    if (files.certificate == NULL || files.key == NULL) {
        return lk_error_set(error, LK_INVALID,
                            "TLS needs both --tls-cert FILE and --tls-key FILE: %s is missing",
                            files.certificate == NULL ? "--tls-cert" : "--tls-key");
    }
    return lk_tls_server_new(&files, ret_context, error);
}

void lk_serve_tls_read_again(const struct lk_command_line *line, struct lk_tls_context *context) {
    const struct lk_tls_files files = files_of(line);
    lk_error error;

    if (context == NULL || files.certificate == NULL || files.key == NULL) {
        return;
    }
    if (lk_tls_context_reload(context, &files, &error) == LK_OK) {
        lk_log(LK_LOG_INFO, "reload", "the certificate was read again");
    } else {
        lk_log(LK_LOG_ERROR, "the former certificate stays", "%s", error.text);
    }
}
