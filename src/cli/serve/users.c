/* SPDX-License-Identifier: Apache-2.0 */
/* Users out of a file that only its owner may write. */
#include "cli/serve/users.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/secrets.h"
#include "base/error.h"

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
                                    "another one by lk passwd",
                                    path, entry->line);
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

lk_outcome lk_serve_users_read(const char *path, struct lk_users_file **ret_file, lk_error *error) {
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
