/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces a file by renaming another one over it. */
#include "cli/passwd/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"

static lk_outcome explain(const char *path, int problem, lk_error *error) {
    return lk_error_set(
        error, problem == EACCES || problem == EPERM || problem == EROFS ? LK_DENIED : LK_INVALID,
        "%s: %s", path, strerror(problem));
}

static lk_outcome no_memory(lk_error *error) {
    return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
}

/* Whether the path still leads to the file that is open. */
static bool is_there(const struct lk_replacing *replacing) {
    struct stat opened;
    struct stat named;

    return fstat(replacing->descriptor, &opened) == 0 && stat(replacing->path, &named) == 0
           && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/* Opens and locks the file that the path leads to, also if another call replaces it meanwhile. */
static lk_outcome lock(struct lk_replacing *replacing, lk_error *error) {
    for (;;) {
        replacing->descriptor = open(replacing->path, O_RDONLY | O_CLOEXEC);
        if (replacing->descriptor < 0) {
            return errno == ENOENT ? LK_OK : explain(replacing->path, errno, error);
        }
        if (flock(replacing->descriptor, LOCK_EX) != 0 && errno != EINTR) {
            return explain(replacing->path, errno, error);
        }
        if (is_there(replacing)) {
            return LK_OK;
        }
        (void)close(replacing->descriptor);
    }
}

static lk_outcome read_text(struct lk_replacing *replacing, size_t max, lk_error *error) {
    char bytes[16 * 1024];
    ssize_t size = 0;

    while (replacing->descriptor >= 0
           && (size = read(replacing->descriptor, bytes, sizeof bytes)) > 0) {
        lk_buffer_add(&replacing->text, bytes, (size_t)size);
        if (replacing->text.size > max) {
            return lk_error_set(error, LK_INVALID, "%s: longer than %zu bytes", replacing->path,
                                max);
        }
    }
    if (size < 0) {
        return explain(replacing->path, errno, error);
    }
    return replacing->text.failed ? no_memory(error) : LK_OK;
}

lk_outcome lk_replacing_begin(struct lk_replacing *replacing, const char *path, size_t max,
                              lk_error *error) {
    lk_outcome outcome;

    *replacing = (struct lk_replacing){.descriptor = -1};
    replacing->path = realpath(path, NULL);
    if (replacing->path == NULL && errno == ENOENT) {
        replacing->path = lk_text_copy(lk_slice_of(path));
    }
    if (replacing->path == NULL) {
        return explain(path, errno, error);
    }
    outcome = lock(replacing, error);
    return outcome == LK_OK ? read_text(replacing, max, error) : outcome;
}

/* The new file has the owner of the former one, where that is allowed. */
static bool fill(const struct lk_replacing *replacing, int descriptor, struct lk_slice text) {
    struct stat former;
    size_t written = 0;

    if (replacing->descriptor >= 0 && fstat(replacing->descriptor, &former) == 0) {
        (void)!fchown(descriptor, former.st_uid, former.st_gid);
    }
    while (written < text.size) {
        ssize_t piece = write(descriptor, text.bytes + written, text.size - written);

        if (piece < 0 && errno != EINTR) {
            return false;
        }
        written += piece > 0 ? (size_t)piece : 0;
    }
    return fchmod(descriptor, S_IRUSR | S_IWUSR) == 0 && fsync(descriptor) == 0;
}

static void sync_directory(const char *path) {
    char *copy = lk_text_copy(lk_slice_of(path));
    int directory = copy != NULL ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (directory >= 0) {
        (void)fsync(directory);
        (void)close(directory);
    }
    free(copy);
}

lk_outcome lk_replacing_write(struct lk_replacing *replacing, struct lk_slice text,
                              lk_error *error) {
    char *path = lk_text_make("%s.XXXXXX", replacing->path);
    int descriptor = path != NULL ? mkostemp(path, O_CLOEXEC) : -1;
    lk_outcome outcome = LK_OK;

    if (path == NULL) {
        return no_memory(error);
    }
    if (descriptor < 0) {
        outcome = explain(path, errno, error);
    } else if (!fill(replacing, descriptor, text) || rename(path, replacing->path) != 0) {
        outcome = explain(path, errno, error);
        (void)unlink(path);
    } else {
        sync_directory(replacing->path);
    }
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    free(path);
    return outcome;
}

void lk_replacing_end(struct lk_replacing *replacing) {
    if (replacing->descriptor >= 0) {
        (void)close(replacing->descriptor);
    }
    lk_buffer_done(&replacing->text);
    free(replacing->path);
}
