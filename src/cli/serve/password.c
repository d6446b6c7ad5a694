/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a password. */
#include "cli/serve/password.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* The beginning of the file, one byte more than a password and a line end can have. */
enum { BYTES_MAX = LK_SERVE_PASSWORD_BYTES_MAX + 2 };

static lk_outcome refuse(int cause, const char *path, lk_error *error) {
    return lk_error_set(error, cause == EACCES ? LK_DENIED : LK_UNAVAILABLE, "%.200s: %s", path,
                        strerror(cause));
}

/* Reads up to BYTES_MAX bytes; -1 with errno. */
static ssize_t read_start(int file, char bytes[BYTES_MAX]) {
    ssize_t size = 0;
    ssize_t more;

    do {
        more = read(file, bytes + size, (size_t)(BYTES_MAX - size));
        size += more > 0 ? more : 0;
    } while ((more > 0 && size < BYTES_MAX) || (more < 0 && errno == EINTR));
    return more < 0 ? -1 : size;
}

lk_outcome lk_serve_password_read(const char *path,
                                  char ret_password[LK_SERVE_PASSWORD_BYTES_MAX + 1],
                                  lk_error *error) {
    char bytes[BYTES_MAX];
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = -1;
    size_t line = 0;
    int cause;

    if (file >= 0 && fstat(file, &status) == 0) {
        size = read_start(file, bytes);
    }
    cause = errno;
    if (file >= 0) {
        (void)close(file);
    }
    if (size < 0) {
        return refuse(cause, path, error);
    }
    if (S_ISREG(status.st_mode) && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return lk_error_set(error, LK_INVALID, "%.200s: others can read it: chmod 600", path);
    }
    while (line < (size_t)size && bytes[line] != '\n' && bytes[line] != '\r') {
        line++;
    }
    if (line == 0 || line > LK_SERVE_PASSWORD_BYTES_MAX || memchr(bytes, '\0', line) != NULL) {
        return lk_error_set(error, LK_INVALID,
                            "%.200s: its first line is no password: 1 to %d bytes", path,
                            LK_SERVE_PASSWORD_BYTES_MAX);
    }
    memcpy(ret_password, bytes, line);
    ret_password[line] = '\0';
    return LK_OK;
}
