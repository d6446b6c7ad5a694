/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, closing and removing regions. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "canal/alive.h"
#include "canal/handle.h"
#include "canal/region.h"

enum { OPENING_TRIES_MAX = 100 };

const char *lk_canal_status_name(lk_canal_status status) {
    static const char *const names[LK_CANAL_STATUS_COUNT] = {
        "ok",      "full",    "not held", "no room", "invalid", "none", "denied",
        "foreign", "damaged", "left",     "timeout", "system",  "gone",
    };

    return (unsigned)status < LK_CANAL_STATUS_COUNT ? names[status] : "unknown";
}

static bool is_same(int file, int other) {
    struct stat status;
    struct stat other_status;

    return fstat(file, &status) == 0 && fstat(other, &other_status) == 0
           && status.st_dev == other_status.st_dev && status.st_ino == other_status.st_ino;
}

/* The end of a thread ends all holders bound to it. */
static void leave_with_thread(void *first) {
    lk_canal_holder *holder = first;

    while (holder != NULL) {
        lk_canal_holder *next = holder->next_of_thread;

        lk_canal_leave(holder);
        holder = next;
    }
}

/* The file is opened twice: once for the mapping and the lock, once to query locks. */
static lk_canal_status open_files(const char *path, const lk_canal_options *options, int *ret_file,
                                  int *ret_other, char *text) {
    for (int try = 0; try < OPENING_TRIES_MAX; try++) {
        lk_canal_status status = lk_canal_file_open(path, options, ret_file, text);

        if (status != LK_CANAL_OK) {
            return status;
        }
        *ret_other = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (*ret_other >= 0 && is_same(*ret_file, *ret_other)) {
            return LK_CANAL_OK;
        }
        if (*ret_other >= 0) {
            (void)close(*ret_other);
        }
        (void)close(*ret_file); /* the file was removed in between */
    }
    return lk_canal_say(text, LK_CANAL_SYSTEM, "%s comes and goes", path);
}

/* What the caller has named and the region has less of. A region keeps the room that it has. */
static lk_canal_status check_room(const struct lk_canal_region *region,
                                  const lk_canal_options *asked, char *text) {
    const struct {
        const char *name;
        uint32_t has, wanted;
    } rooms[] = {
        {"keys", region->head->keys, asked->keys},
        {"holders", region->head->holders, asked->holders},
        {"permits", region->head->permits, asked->permits},
    };

    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        if (rooms[i].has < rooms[i].wanted) {
            return lk_canal_say(text, LK_CANAL_INVALID,
                                "the region was made for %u %s, and %u are asked for: remove it "
                                "while nothing uses it; it is made again then",
                                rooms[i].has, rooms[i].name, rooms[i].wanted);
        }
    }
    return LK_CANAL_OK;
}

/*
 * With a handle whose `file` is open; `file` is the other one. `asked`: the caller's options; NULL:
 * none. On failure nothing is mapped.
 */
static lk_canal_status enter(lk_canal *canal, int file, const lk_canal_options *asked, char *text) {
    lk_canal_status status = lk_canal_region_map(file, &canal->region, text);

    if (status == LK_CANAL_OK && asked != NULL) {
        status = check_room(&canal->region, asked, text);
        if (status != LK_CANAL_OK) {
            lk_canal_region_unmap(&canal->region);
        }
    }
    if (status != LK_CANAL_OK) {
        return status;
    }
    canal->namespace = lk_canal_namespace();
    status = lk_canal_process_enter(canal, file, text);
    if (status != LK_CANAL_OK) {
        lk_canal_region_unmap(&canal->region);
        return status;
    }
    if (pthread_key_create(&canal->of_thread, leave_with_thread) != 0) {
        lk_canal_process_leave(canal);
        lk_canal_region_unmap(&canal->region);
        return lk_canal_say(text, LK_CANAL_SYSTEM, "no room for one more thread-specific key");
    }
    return LK_CANAL_OK;
}

/* `asked`: what the caller has set of the options. */
static lk_canal_status open_path(const char *path, const lk_canal_options *options,
                                 const lk_canal_options *asked, lk_canal *canal, char *text) {
    lk_canal_status status;
    int file = -1;

    lk_canal_forks_hold();
    status = open_files(path, options, &file, &canal->file, text);
    if (status == LK_CANAL_OK) {
        status = enter(canal, file, asked, text);
        (void)close(file); /* the mapping keeps it open */
        if (status != LK_CANAL_OK) {
            (void)close(canal->file);
        }
    }
    lk_canal_forks_go_on();
    return status;
}

lk_canal_status lk_canal_open(const char *name, const lk_canal_options *options,
                              lk_canal **ret_canal, char *ret_text) {
    char path[LK_CANAL_PATH_SIZE];
    lk_canal_options full;
    lk_canal *canal;
    lk_canal_status status = lk_canal_options_check(options, &full, ret_text);

    if (status == LK_CANAL_OK) {
        status = lk_canal_path_of(name, path, ret_text);
    }
    if (status != LK_CANAL_OK) {
        return status;
    }
    canal = lk_canal_pages_take(sizeof *canal);
    if (canal == NULL) {
        return lk_canal_say(ret_text, LK_CANAL_SYSTEM, "no memory for a handle: %s",
                            strerror(errno));
    }
    status = open_path(path, &full, options, canal, ret_text);
    if (status != LK_CANAL_OK) {
        lk_canal_pages_give(canal, sizeof *canal);
        return status;
    }
    if (realpath(path, canal->path) == NULL) {
        (void)snprintf(canal->path, sizeof canal->path, "%s", path); /* it is gone already */
    }
    (void)pthread_mutex_init(&canal->mutex, NULL);
    canal->seal = HANDLE_SEAL;
    *ret_canal = canal;
    return LK_CANAL_OK;
}

void lk_canal_close(lk_canal *canal) {
    if (canal == NULL || canal->seal != HANDLE_SEAL) {
        return;
    }
    while (canal->holders != NULL) {
        lk_canal_leave(canal->holders);
    }
    (void)pthread_key_delete(canal->of_thread);
    (void)pthread_mutex_destroy(&canal->mutex);
    lk_canal_process_leave(canal);
    lk_canal_region_unmap(&canal->region);
    (void)close(canal->file);
    lk_canal_pages_give(canal, sizeof *canal);
}

lk_canal_status lk_canal_remove(const char *name) {
    char path[LK_CANAL_PATH_SIZE];
    lk_canal_status status = lk_canal_path_of(name, path, NULL);

    if (status == LK_CANAL_OK && unlink(path) != 0) {
        status = errno == ENOENT                     ? LK_CANAL_NONE
                 : errno == EACCES || errno == EPERM ? LK_CANAL_DENIED
                                                     : LK_CANAL_SYSTEM;
    }
    return status;
}
