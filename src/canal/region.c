/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A region appears at its name in one step (link), so that no process sees an incomplete one, and a
 * process killed while it creates one leaves nothing behind. An existing file is not trusted: its
 * size must match the capacities in its head.
 */
#include "canal/region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "canal/handle.h"

enum {
    KEYS_DEFAULT = 4096,
    HOLDERS_DEFAULT = 1024,
    PERMITS_PER_HOLDER_DEFAULT = 64,
    ALIGNMENT = 128,
    MAKING_TRIES_MAX = 100,
    ENDIAN_MARK = 0x01020304,
};

static const char magic[8] = "LKCANAL";

lk_canal_status lk_canal_say(char *text, lk_canal_status status, const char *format, ...) {
    if (text != NULL) {
        va_list arguments;

        va_start(arguments, format);
        (void)vsnprintf(text, LK_CANAL_TEXT_MAX, format, arguments);
        va_end(arguments);
    }
    return status;
}

/* ---- names and capacities -------------------------------------------------------------------- */

lk_canal_status lk_canal_path_of(const char *name, char ret_path[LK_CANAL_PATH_SIZE], char *text) {
    size_t size = name != NULL ? strlen(name) : 0;

    if (size == 0 || size > LK_CANAL_NAME_BYTES_MAX) {
        return lk_canal_say(text, LK_CANAL_INVALID, "a region's name has 1 to %d bytes",
                            LK_CANAL_NAME_BYTES_MAX);
    }
    (void)snprintf(ret_path, LK_CANAL_PATH_SIZE, "%s%s",
                   strchr(name, '/') == NULL ? "/dev/shm/canal." : "", name);
    return LK_CANAL_OK;
}

lk_canal_status lk_canal_options_check(const lk_canal_options *options,
                                       lk_canal_options *ret_options, char *text) {
    lk_canal_options full = {.size = sizeof full};
    uint64_t permits;

    if (options != NULL) {
        if (options->size != sizeof full) {
            return lk_canal_say(text, LK_CANAL_INVALID, "lk_canal_options.size is not set");
        }
        full = *options;
    }
    full.keys = full.keys != 0 ? full.keys : KEYS_DEFAULT;
    full.holders = full.holders != 0 ? full.holders : HOLDERS_DEFAULT;
    full.mode = full.mode != 0 ? full.mode : S_IRUSR | S_IWUSR;
    permits = full.permits;
    if (permits == 0) {
        permits = full.keys + (uint64_t)full.holders * PERMITS_PER_HOLDER_DEFAULT;
    }
    permits = (permits + CHUNK_ENTRIES - 1) / CHUNK_ENTRIES * CHUNK_ENTRIES;
    if (full.keys > LK_CANAL_KEYS_MAX || full.holders > LK_CANAL_HOLDERS_MAX
        || permits > LK_CANAL_PERMITS_MAX) {
        return lk_canal_say(text, LK_CANAL_INVALID,
                            "a region is made for at most %d keys, %d holders and %d permits",
                            LK_CANAL_KEYS_MAX, LK_CANAL_HOLDERS_MAX, LK_CANAL_PERMITS_MAX);
    }
    if ((full.mode & ~0777u) != 0) {
        return lk_canal_say(text, LK_CANAL_INVALID, "%o is no mode of a file", full.mode);
    }
    full.permits = (uint32_t)permits;
    *ret_options = full;
    return LK_CANAL_OK;
}

/* ---- the layout of capacities ---------------------------------------------------------------- */

static void *lay(char *base, uint64_t *offset, uint64_t bytes) {
    uint64_t start = *offset;

    *offset = (start + bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return base != NULL ? base + start : NULL;
}

/* The capacities are within their bounds. base NULL: only computes the size. */
static void lay_out(struct lk_canal_region *region, char *base, uint32_t keys, uint32_t holders,
                    uint32_t permits) {
    uint64_t offset = 0;

    region->holder_count = holders;
    region->chunk_count = permits / CHUNK_ENTRIES;
    region->slot_count = keys + keys / 2 + 1;
    region->entry_count = permits;
    region->reach = region->slot_count < KEY_REACH ? region->slot_count : KEY_REACH;
    region->gate_count = 64;
    while (region->gate_count < region->slot_count / 8) {
        region->gate_count *= 2;
    }
    region->head = lay(base, &offset, sizeof *region->head);
    region->processes = lay(base, &offset, sizeof *region->processes * region->holder_count);
    region->holders = lay(base, &offset, sizeof *region->holders * region->holder_count);
    region->chunks = lay(base, &offset, sizeof *region->chunks * region->chunk_count);
    region->gates = lay(base, &offset, sizeof *region->gates * region->gate_count);
    region->tags = lay(base, &offset, sizeof *region->tags * region->slot_count);
    region->slots = lay(base, &offset, sizeof *region->slots * region->slot_count);
    region->entries = lay(base, &offset, sizeof *region->entries * region->entry_count);
    region->bytes = offset;
}

/* ---- creating a region ----------------------------------------------------------------------- */

/* Writes the head to an unnamed file and gives it the right size. */
static lk_canal_status fill(int file, const lk_canal_options *options, char *text) {
    struct lk_canal_region region;
    struct lk_canal_head head = {.version = LK_CANAL_VERSION,
                                 .endian = ENDIAN_MARK,
                                 .keys = options->keys,
                                 .holders = options->holders,
                                 .permits = options->permits};
    int failure;

    lay_out(&region, NULL, options->keys, options->holders, options->permits);
    memcpy(head.magic, magic, sizeof magic);
    head.bytes = region.bytes;
    if (getrandom(&head.seed, sizeof head.seed, 0) != sizeof head.seed) {
        return lk_canal_say(text, LK_CANAL_SYSTEM, "no random numbers: %s", strerror(errno));
    }
    /* All pages at once: a page that cannot be allocated later would be a SIGBUS. */
    failure = posix_fallocate(file, 0, (off_t)region.bytes);
    if (failure != 0) {
        return lk_canal_say(text, LK_CANAL_SYSTEM, "no room for %llu bytes: %s",
                            (unsigned long long)region.bytes, strerror(failure));
    }
    if (pwrite(file, &head, sizeof head, 0) != (ssize_t)sizeof head) {
        return lk_canal_say(text, LK_CANAL_SYSTEM, "cannot be written: %s", strerror(errno));
    }
    if (fchmod(file, options->mode) != 0) {
        return lk_canal_say(text, LK_CANAL_SYSTEM, "its mode cannot be set: %s", strerror(errno));
    }
    return LK_CANAL_OK;
}

/* Creates the region and gives it its name. LK_CANAL_FULL: another process was faster. */
static lk_canal_status make(const char *path, const lk_canal_options *options, char *text) {
    char directory[LK_CANAL_PATH_SIZE];
    char unnamed[64];
    lk_canal_status status;
    char *slash;
    int file;

    (void)snprintf(directory, sizeof directory, "%s", path);
    slash = strrchr(directory, '/'); /* every path has one */
    slash[slash == directory ? 1 : 0] = '\0';
    file = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0) {
        return lk_canal_say(text, errno == EACCES ? LK_CANAL_DENIED : LK_CANAL_SYSTEM,
                            "no region can be made in %s: %s", directory, strerror(errno));
    }
    status = fill(file, options, text);
    (void)snprintf(unnamed, sizeof unnamed, "/proc/self/fd/%d", file);
    if (status == LK_CANAL_OK
        && linkat(AT_FDCWD, unnamed, AT_FDCWD, path, AT_SYMLINK_FOLLOW) != 0) {
        status = errno == EEXIST ? LK_CANAL_FULL
                                 : lk_canal_say(text, LK_CANAL_SYSTEM, "%s cannot be made: %s",
                                                path, strerror(errno));
    }
    (void)close(file);
    return status;
}

/* ---- opening a region ------------------------------------------------------------------------ */

/* A region that another user created can be damaged by that user. */
static lk_canal_status check_file(int file, const lk_canal_options *options, char *text) {
    struct stat status;

    if (fstat(file, &status) != 0) {
        return lk_canal_say(text, LK_CANAL_SYSTEM, "cannot be looked at: %s", strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) {
        return lk_canal_say(text, LK_CANAL_FOREIGN, "it is no file");
    }
    if (!options->is_shared && status.st_uid != geteuid() && status.st_uid != 0) {
        return lk_canal_say(text, LK_CANAL_DENIED, "it belongs to user %u, and is_shared is unset",
                            (unsigned)status.st_uid);
    }
    return LK_CANAL_OK;
}

lk_canal_status lk_canal_file_open(const char *path, const lk_canal_options *options, int *ret_file,
                                   char *text) {
    for (int try = 0; try < MAKING_TRIES_MAX; try++) {
        int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        lk_canal_status status;
        struct stat found;

        if (file >= 0) {
            status = check_file(file, options, text);
            if (status != LK_CANAL_OK) {
                (void)close(file);
                return status;
            }
            *ret_file = file;
            return LK_CANAL_OK;
        }
        if (errno != ENOENT) {
            int cause = errno;

            status = errno == EACCES || errno == EPERM || errno == ELOOP ? LK_CANAL_DENIED
                     : errno == EISDIR || errno == ENXIO                 ? LK_CANAL_FOREIGN
                                                                         : LK_CANAL_SYSTEM;
            if (status != LK_CANAL_SYSTEM && lstat(path, &found) == 0) {
                return lk_canal_say(text, status, "%s: %s; it belongs to user %u", path,
                                    strerror(cause), (unsigned)found.st_uid);
            }
            return lk_canal_say(text, status, "%s: %s", path, strerror(cause));
        }
        if (options->must_exist) {
            return lk_canal_say(text, LK_CANAL_NONE, "there is no region %s", path);
        }
        status = make(path, options, text);
        if (status != LK_CANAL_OK && status != LK_CANAL_FULL) {
            return status;
        }
    }
    return lk_canal_say(text, LK_CANAL_SYSTEM, "%s comes and goes", path);
}

/* LK_CANAL_OK: the head is the one that this version writes to a file of this size. */
static lk_canal_status judge(const struct lk_canal_head *head, uint64_t file_bytes, char *text) {
    struct lk_canal_region region;

    if (memcmp(head->magic, magic, sizeof magic) != 0) {
        return lk_canal_say(text, LK_CANAL_FOREIGN, "it is no region of canal.h");
    }
    if (head->version != LK_CANAL_VERSION || head->endian != ENDIAN_MARK) {
        return lk_canal_say(text, LK_CANAL_FOREIGN,
                            "its layout has version %u, and this library's is %d", head->version,
                            LK_CANAL_VERSION);
    }
    if (head->keys == 0 || head->keys > LK_CANAL_KEYS_MAX || head->holders == 0
        || head->holders > LK_CANAL_HOLDERS_MAX || head->permits == 0
        || head->permits > LK_CANAL_PERMITS_MAX || head->permits % CHUNK_ENTRIES != 0) {
        return lk_canal_say(text, LK_CANAL_FOREIGN, "its capacities are out of bounds");
    }
    lay_out(&region, NULL, head->keys, head->holders, head->permits);
    if (region.bytes != head->bytes || region.bytes != file_bytes) {
        return lk_canal_say(text, LK_CANAL_FOREIGN,
                            "it has %llu bytes, and its capacities need %llu: it was cut",
                            (unsigned long long)file_bytes, (unsigned long long)region.bytes);
    }
    return LK_CANAL_OK;
}

lk_canal_status lk_canal_region_map(int file, struct lk_canal_region *ret_region, char *text) {
    struct lk_canal_region region;
    struct lk_canal_head head;
    struct stat file_status;
    lk_canal_status status;
    char *base;

    if (fstat(file, &file_status) != 0) {
        return lk_canal_say(text, LK_CANAL_SYSTEM, "cannot be looked at: %s", strerror(errno));
    }
    if (pread(file, &head, sizeof head, 0) != (ssize_t)sizeof head) {
        return lk_canal_say(text, LK_CANAL_FOREIGN, "it is too short for a region");
    }
    status = judge(&head, (uint64_t)file_status.st_size, text);
    if (status != LK_CANAL_OK) {
        return status;
    }
    base = mmap(NULL, head.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (base == MAP_FAILED) {
        return lk_canal_say(text, LK_CANAL_SYSTEM, "cannot be mapped: %s", strerror(errno));
    }
    if (madvise(base, head.bytes, MADV_DONTFORK) != 0) {
        (void)munmap(base, head.bytes);
        return lk_canal_say(text, LK_CANAL_SYSTEM, "forks would follow: %s", strerror(errno));
    }
    lay_out(&region, base, head.keys, head.holders, head.permits);
    region.seed = head.seed;
    *ret_region = region;
    return LK_CANAL_OK;
}

void lk_canal_region_unmap(struct lk_canal_region *region) {
    (void)munmap(region->head, region->bytes);
}

/* ---- whether its name leads to it ------------------------------------------------------------ */

/*
 * Whether a region's name still refers to it. A file that was removed (rm, systemd's RemoveIPC=yes)
 * stays valid for the processes that have it mapped, but processes that open the name create
 * another one, and the two would count separately. The processes in the new region cannot detect
 * that, so the processes in the old region acquire no more permits.
 *
 * A check costs two system calls, so each holder makes at most one in CHECK_NS. Reading the clock
 * costs a fifth of an acquire, so while acquires come faster than that it is read for one in
 * STRIDE + 1. A holder that acquires slowly checks each time.
 */

#define CHECK_NS INT64_C(10000000)

enum { STRIDE = 15 };

/* A name that does not exist counts as the region's too: no other region has been created there
 * yet, and behind a chroot() none will be. */
static bool does_name_lead(const lk_canal *canal) {
    struct stat own;
    struct stat named;

    if (fstat(canal->file, &own) != 0 || own.st_nlink == 0) {
        return false;
    }
    return stat(canal->path, &named) != 0
           || (named.st_dev == own.st_dev && named.st_ino == own.st_ino);
}

bool lk_canal_is_gone(lk_canal *canal) {
    if (canal->seal != HANDLE_SEAL) {
        return true;
    }
    if (!atomic_load_explicit(&canal->is_gone, memory_order_relaxed) && !does_name_lead(canal)) {
        atomic_store_explicit(&canal->is_gone, true, memory_order_relaxed);
    }
    return atomic_load_explicit(&canal->is_gone, memory_order_relaxed);
}

bool lk_canal_name_look(lk_canal_holder *holder) {
    struct timespec now;
    int64_t now_ns;

    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    holder->unchecked = now_ns - holder->clock_read_ns < CHECK_NS ? STRIDE : 0;
    holder->clock_read_ns = now_ns;
    if (now_ns - holder->name_checked_ns < CHECK_NS) {
        return !atomic_load_explicit(&holder->canal->is_gone, memory_order_relaxed);
    }
    holder->name_checked_ns = now_ns;
    return !lk_canal_is_gone(holder->canal);
}
