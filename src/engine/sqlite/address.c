/* SPDX-License-Identifier: Apache-2.0 */
/* Where a store's file is. */
#include "engine/sqlite/address.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system_call.h"
#include "sql/format.h"

/* ---- the URL --------------------------------------------------------------------------------- */

static lk_outcome parse_parameter(struct lk_slice parameter, struct lk_sqlite_address *address,
                                  lk_error *error) {
    static const struct {
        const char *text;
        bool is_of_share;
        bool value;
    } known[] = {{"durability=full", false, false},
                 {"durability=relaxed", false, true},
                 {"share=no", true, false},
                 {"share=yes", true, true}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (lk_slice_equal(parameter, lk_slice_of(known[i].text))) {
            *(known[i].is_of_share ? &address->is_shared : &address->is_relaxed) = known[i].value;
            return LK_OK;
        }
    }
    return lk_error_set(error, LK_INVALID,
                        "sqlite: takes ?durability=full or ?durability=relaxed, and share=yes, "
                        "not '%.*s'",
                        (int)(parameter.size < 64 ? parameter.size : 64), parameter.bytes);
}

/* NAME=VALUE[&NAME=VALUE]... */
static lk_outcome parse_parameters(struct lk_slice text, struct lk_sqlite_address *address,
                                   lk_error *error) {
    lk_outcome outcome = LK_OK;
    bool has_more = true;

    while (has_more && outcome == LK_OK) {
        const char *end = text.size > 0 ? (const char *)memchr(text.bytes, '&', text.size) : NULL;
        struct lk_slice parameter = {text.bytes,
                                     end != NULL ? (size_t)(end - text.bytes) : text.size};

        outcome = parse_parameter(parameter, address, error);
        has_more = end != NULL;
        if (has_more) {
            text = (struct lk_slice){end + 1, text.size - parameter.size - 1};
        }
    }
    return outcome;
}

/*
 * Behind `//` other programs' URLs have a host, and then a path: only an empty host leads to a
 * file.
 * Taken as a path, sqlite://locks.db would be a file in the root directory.
 */
static lk_outcome leave_out_host(struct lk_slice *path, lk_error *error) {
    bool has_host = path->size >= 2 && memcmp(path->bytes, "//", 2) == 0;
    bool is_shown;

    if (!has_host) {
        return LK_OK;
    }
    path->bytes += 2;
    path->size -= 2;
    if (path->size > 0 && path->bytes[0] == '/') {
        return LK_OK;
    }
    /* A password may be before an @. */
    is_shown = path->size > 0 && path->size < 128 && memchr(path->bytes, '@', path->size) == NULL;
    return lk_error_set(error, LK_INVALID,
                        "behind sqlite:// the path begins with a third slash; did you mean "
                        "sqlite:%.*s or sqlite:///%.*s?",
                        is_shown ? (int)path->size : 4, is_shown ? path->bytes : "PATH",
                        is_shown ? (int)path->size : 4, is_shown ? path->bytes : "PATH");
}

lk_outcome lk_sqlite_address_parse(struct lk_slice rest, struct lk_sqlite_address *ret_address,
                                   lk_error *error) {
    const char *question = rest.size > 0 ? (const char *)memchr(rest.bytes, '?', rest.size) : NULL;
    struct lk_slice path = rest;
    struct lk_sqlite_address address = {.is_relaxed = false};

    if (question != NULL) {
        path.size = (size_t)(question - rest.bytes);
        struct lk_slice parameter = {question + 1, rest.size - path.size - 1};
        if (parse_parameters(parameter, &address, error) != LK_OK) {
            return LK_INVALID;
        }
    }
    if (leave_out_host(&path, error) != LK_OK) {
        return LK_INVALID;
    }
    if (path.size == 0) {
        return lk_error_set(error, LK_INVALID, "sqlite: needs the path of a file: sqlite:PATH");
    }
    if (path.size >= sizeof ret_address->path) {
        return lk_error_set(error, LK_INVALID, "the path of the store has more than %zu bytes",
                            sizeof ret_address->path - 1);
    }
    /* SQLite gives these names a meaning of their own: a database in memory, a URI. */
    if (path.bytes[0] == ':' || (path.size >= 5 && memcmp(path.bytes, "file:", 5) == 0)) {
        return lk_error_set(error, LK_INVALID,
                            "sqlite: needs the path of a file; write ./ before a name that "
                            "begins with ':' or 'file:'");
    }
    memcpy(address.path, path.bytes, path.size);
    address.path[path.size] = '\0';
    *ret_address = address;
    return LK_OK;
}

/* ---- the directory and the file system ------------------------------------------------------- */

/* From linux/magic.h and, where that lacks them, from the kernel's sources. */
static const struct {
    unsigned long type;
    const char *name;
} network_file_systems[] = {
    {0x6969, "NFS"},
    {0xFF534D42, "CIFS"},
    {0xFE534D42, "SMB"},
    {0x517B, "SMB"},
    {0x01021997, "9p"},
    {0x65735546, "FUSE"},
    {0x5346414F, "AFS"},
    {0x6B414653, "AFS"},
    {0x73757245, "Coda"},
    {0x00C36400, "Ceph"},
    {0x0BD00BD0, "Lustre"},
    {0x7461636F, "OCFS2"},
    {0x01161970, "GFS2"},
    {0x564C, "NCP"},
    {0x19830326, "BeeGFS"},
    {0x47504653, "GPFS"},
    {0x786F4256, "VirtualBox shared folder"},
};

const char *lk_sqlite_address_network_name(unsigned long type) {
    for (size_t i = 0; i < sizeof network_file_systems / sizeof network_file_systems[0]; i++) {
        if ((type & 0xFFFFFFFFUL) == network_file_systems[i].type) {
            return network_file_systems[i].name;
        }
    }
    return NULL;
}

/* The directory part of `path` into `directory`, which has room for as much. */
static void directory_of(const char *path, char *directory) {
    const char *slash = strrchr(path, '/');

    if (slash == NULL) {
        memcpy(directory, ".", 2);
    } else if (slash == path) {
        memcpy(directory, "/", 2);
    } else {
        memcpy(directory, path, (size_t)(slash - path));
        directory[slash - path] = '\0';
    }
}

static lk_outcome refuse_by_errno(const char *what, const char *path, int cause, lk_error *error) {
    lk_outcome outcome = LK_UNAVAILABLE;

    if (cause == EACCES || cause == EPERM || cause == EROFS) {
        outcome = LK_DENIED;
    } else if (cause == ENAMETOOLONG || cause == ENOTDIR || cause == ELOOP || cause == EISDIR) {
        outcome = LK_INVALID;
    }
    return lk_error_set(error, outcome, "%s (%s): %s", what, strerror(cause), path);
}

/* How long the whole path is, from the root on; 0 where that cannot be found out. */
static size_t whole_size(const char *path, const char *directory) {
    const char *slash = strrchr(path, '/');
    char whole[PATH_MAX];

    return realpath(directory, whole) != NULL
               ? strlen(whole) + 1 + strlen(slash != NULL ? slash + 1 : path)
               : 0;
}

/* SQLite has room for so much, and needs some for the names beside it. */
static size_t whole_size_max(void) {
    return (size_t)sqlite3_vfs_find(NULL)->mxPathname - strlen("-journal");
}

static lk_outcome check_directory(const char *path, lk_error *error) {
    char directory[PATH_MAX];
    struct stat status;
    struct statfs file_system;
    const char *network;

    directory_of(path, directory);
    if (stat(directory, &status) != 0) {
        if (errno == ENOENT) {
            return lk_error_set(error, LK_INVALID,
                                "the directory of the store does not exist; make it first: %s",
                                directory);
        }
        return refuse_by_errno("the directory of the store cannot be looked at", directory, errno,
                               error);
    }
    if (!S_ISDIR(status.st_mode)) {
        return lk_error_set(error, LK_INVALID, "the store needs a directory, which this is not: %s",
                            directory);
    }
    if (whole_size(path, directory) > whole_size_max()) {
        return lk_error_set(error, LK_INVALID,
                            "the whole path of the store has more than the %zu bytes that SQLite "
                            "takes: %s",
                            whole_size_max(), path);
    }
    /* The file itself when it is there: it may be mounted, or a link to elsewhere. */
    if (statfs(path, &file_system) != 0 && statfs(directory, &file_system) != 0) {
        return refuse_by_errno("the file system of the store cannot be looked at", directory, errno,
                               error);
    }
    network = lk_sqlite_address_network_name((unsigned long)file_system.f_type);
    if (network != NULL) {
        return lk_error_set(error, LK_UNSUPPORTED,
                            "the store is on a network file system (%s), where locks of one "
                            "machine are not seen by others; choose a local disk: %s",
                            network, path);
    }
    return LK_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

/*
 * The log and its index are beside the file's name. By another name of the same file, another link
 * or a mount of the file alone, there would be others: two stores that do not see each other.
 */
static lk_outcome check_names(const char *path, const struct stat *status, lk_error *error) {
    struct statx more;

    if (status->st_nlink > 1) {
        return lk_error_set(
            error, LK_INVALID,
            "the store's file has several names (hard links), and a process that "
            "uses another one does not see the locks of this one; keep one name: %s",
            path);
    }
    if (lk_statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &more) == 0
        && (more.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) {
        return lk_error_set(error, LK_INVALID,
                            "the store's file is mounted by itself, without what stands beside it "
                            "(-wal, -shm): its locks are not seen elsewhere; mount its directory: "
                            "%s",
                            path);
    }
    return LK_OK;
}

/*
 * A link in a directory that several users may write can lead to any file that this user may write,
 * which would become a store, or be a store of others. Only that of root, or its own, is followed.
 */
static lk_outcome check_link(const char *path, lk_error *error) {
    struct stat status;

    if (lstat(path, &status) != 0 || !S_ISLNK(status.st_mode) || status.st_uid == geteuid()
        || status.st_uid == 0) {
        return LK_OK;
    }
    return lk_error_set(error, LK_DENIED,
                        "the store's file is a link that the user %u has made, who is neither this "
                        "one nor root: it is not followed: %s",
                        (unsigned)status.st_uid, path);
}

/*
 * mknod() makes the file without opening it: closing a descriptor of it in this process
 * would drop the locks of other connections (POSIX).
 */
static lk_outcome make_file(const char *path, lk_error *error) {
    struct stat status;

    if (mknod(path, S_IFREG | S_IRUSR | S_IWUSR, 0) != 0 && errno != EEXIST) {
        int cause = errno;
        if (stat(path, &status) != 0) {
            return refuse_by_errno("the store's file cannot be made", path, cause, error);
        }
    }
    if (stat(path, &status) != 0) {
        if (errno == ENOENT) {
            return lk_error_set(error, LK_INVALID,
                                "the store's file is a link to one that is not there; make that, "
                                "or take the link away: %s",
                                path);
        }
        return refuse_by_errno("the store's file cannot be looked at", path, errno, error);
    }
    if (!S_ISREG(status.st_mode)) {
        return lk_error_set(error, LK_INVALID,
                            "the store must be a plain file, which this is not: "
                            "%s",
                            path);
    }
    return check_names(path, &status, error);
}

static lk_outcome check_identity(const struct lk_sqlite_address *address, lk_error *error) {
    const char *path = address->path;
    enum lk_sql_identity identity = LK_SQL_IS_EMPTY;
    struct lk_sql sql;
    lk_outcome outcome;
    int code = lk_sql_open(&sql, path, SQLITE_OPEN_READONLY, NULL);

    if (code == SQLITE_OK) {
        code = lk_sql_identify(&sql, &identity);
    }
    if (code != SQLITE_OK) {
        outcome = lk_sql_explain(&sql, code, error);
    } else if (identity == LK_SQL_IS_FOREIGN && !address->is_shared) {
        outcome =
            lk_error_set(error, LK_INVALID,
                         "this is another application's SQLite database, not a Lockkeeper store; "
                         "nothing was changed (its owner may share it: ?share=yes): %s",
                         path);
    } else if (identity == LK_SQL_IS_NO_DATABASE) {
        outcome = lk_error_set(error, LK_INVALID,
                               "this file is no Lockkeeper store and no database at all; nothing "
                               "was changed: %s",
                               path);
    } else {
        outcome = LK_OK;
    }
    lk_sql_close(&sql);
    return outcome;
}

lk_outcome lk_sqlite_address_prepare(const struct lk_sqlite_address *address, lk_error *error) {
    lk_outcome outcome = check_directory(address->path, error);

    if (outcome == LK_OK) {
        outcome = check_link(address->path, error);
    }
    if (outcome == LK_OK) {
        outcome = make_file(address->path, error);
    }
    if (outcome == LK_OK) {
        outcome = check_identity(address, error);
    }
    return outcome;
}
