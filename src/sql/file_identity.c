/* SPDX-License-Identifier: Apache-2.0 */
/* Names and inodes. */
#include "sql/file_identity.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

static bool find(const char *database, const char *suffix, struct lk_sql_file *ret_file) {
    char path[PATH_MAX];
    struct stat status;
    int size = snprintf(path, sizeof path, "%s%s", database, suffix);

    if (size < 0 || (size_t)size >= sizeof path || stat(path, &status) != 0) {
        return false;
    }
    *ret_file = (struct lk_sql_file){.device = status.st_dev, .inode = status.st_ino};
    return true;
}

bool lk_sql_has_moved(struct lk_sql *sql) {
    static const char *const suffixes[LK_SQL_BESIDE_COUNT] = {"-wal", "-shm"};
    const char *database = sqlite3_db_filename(sql->handle, "main");
    int is_moved = 0;

    (void)sqlite3_file_control(sql->handle, "main", SQLITE_FCNTL_HAS_MOVED, &is_moved);
    for (int i = 0; i < LK_SQL_BESIDE_COUNT && is_moved == 0; i++) {
        struct lk_sql_file *known = &sql->beside[i];
        struct lk_sql_file found;

        if (!find(database, suffixes[i], &found)) {
            is_moved = 1;
        } else if (known->inode == 0) {
            *known = found;
        } else {
            is_moved = found.device != known->device || found.inode != known->inode;
        }
    }
    return is_moved != 0;
}
