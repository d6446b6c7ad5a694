/* SPDX-License-Identifier: Apache-2.0 */
/* Written beside its place, flushed, renamed; then the directory is flushed. */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system_call.h"
#include "base/text.h"

lk_outcome lk_new_file_fail(const struct lk_new_file *file, int problem, lk_error *error) {
    if (problem == EEXIST) {
        return lk_error_set(error, LK_INVALID, "%s is there already; name a new file", file->path);
    }
    return lk_error_set(error,
                        problem == EACCES || problem == EPERM || problem == EROFS ? LK_DENIED
                                                                                  : LK_UNAVAILABLE,
                        "the copy %s: %s", file->path, strerror(problem));
}

lk_outcome lk_new_file_begin(struct lk_new_file *file, const char *path, lk_error *error) {
    struct stat status;

    *file = (struct lk_new_file){.path = path, .descriptor = -1};
    if (lstat(path, &status) == 0) {
        return lk_new_file_fail(file, EEXIST, error);
    }
    file->part = lk_text_make("%s.XXXXXX", path);
    if (file->part == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    file->descriptor = mkostemp(file->part, O_CLOEXEC);
    if (file->descriptor < 0) {
        int problem = errno;

        free(file->part);
        file->part = NULL;
        return lk_new_file_fail(file, problem, error);
    }
    return LK_OK;
}

/* Never over another file. An errno, or 0. */
static int give_name(const struct lk_new_file *file) {
    int problem;

    if (lk_rename(file->part, file->path, RENAME_NOREPLACE) == 0) {
        return 0;
    }
    problem = errno;
    /* Not every file system and sandbox can: then what was found at the beginning has to do. */
    if ((problem == EINVAL || problem == EPERM || problem == ENOSYS)
        && access(file->path, F_OK) != 0) {
        problem = rename(file->part, file->path) == 0 ? 0 : errno;
    }
    return problem;
}

static int flush_directory(const char *path) {
    char *name = lk_text_copy(lk_slice_of(path));
    int directory = name != NULL ? open(dirname(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int problem = 0;

    if (directory >= 0) {
        problem = fsync(directory) == 0 || errno == EINVAL ? 0 : errno;
        (void)close(directory);
    }
    free(name);
    return problem;
}

lk_outcome lk_new_file_publish(struct lk_new_file *file, lk_error *error) {
    int problem = fsync(file->descriptor) == 0 ? give_name(file) : errno;

    if (problem == 0) {
        free(file->part);
        file->part = NULL;
        problem = flush_directory(file->path);
    }
    return problem == 0 ? LK_OK : lk_new_file_fail(file, problem, error);
}

void lk_new_file_end(struct lk_new_file *file) {
    if (file->descriptor >= 0) {
        (void)close(file->descriptor);
        file->descriptor = -1;
    }
    if (file->part != NULL) {
        (void)unlink(file->part);
        free(file->part);
        file->part = NULL;
    }
}
