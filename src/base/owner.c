/* SPDX-License-Identifier: Apache-2.0 */
/* The names of user, host and boot, and the form that is made of them (owner.h). */
#include "base/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Together with the numbers behind them they stay below LK_OWNER_BYTES_MAX. */
enum {
    USER_BYTES_MAX = 24,
    HOST_BYTES_MAX = 32,
    BOOT_BYTES = 8, /* of the boot's UUID: enough to tell the boots of one host apart */
    RECORD_SIZE = 1024,
};

/* Leaves only what is safe to print and does not belong to the form. */
static void make_plain(char *name) {
    for (char *byte = name; *byte != '\0'; byte++) {
        if (*byte <= ' ' || *byte > '~' || *byte == '/') {
            *byte = '_';
        }
    }
}

static void look_up_user(uid_t uid, char ret_name[USER_BYTES_MAX + 1]) {
    char record[RECORD_SIZE];
    struct passwd entry;
    struct passwd *found = NULL;

    if (getpwuid_r(uid, &entry, record, sizeof record, &found) == 0 && found != NULL) {
        (void)snprintf(ret_name, USER_BYTES_MAX + 1, "%s", found->pw_name);
    } else {
        (void)snprintf(ret_name, USER_BYTES_MAX + 1, "%lu", (unsigned long)uid);
    }
    make_plain(ret_name);
}

/* A pool of workers makes an owner for each of its threads: one look-up serves them all. */
static void add_user_name(struct lk_text *owner) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static char name[USER_BYTES_MAX + 1];
    static uid_t name_is_of;
    uid_t uid = getuid();

    pthread_mutex_lock(&mutex);
    if (name[0] == '\0' || name_is_of != uid) {
        look_up_user(uid, name);
        name_is_of = uid;
    }
    lk_text_format(owner, "%s", name);
    pthread_mutex_unlock(&mutex);
}

void lk_owner_add_user(struct lk_text *owner) {
    char host[HOST_BYTES_MAX + 1] = "";

    add_user_name(owner);
    if (gethostname(host, sizeof host) != 0 && errno != ENAMETOOLONG) {
        host[0] = '\0';
    }
    host[HOST_BYTES_MAX] = '\0';
    make_plain(host);
    lk_text_format(owner, "@%s", host[0] != '\0' ? host : "localhost");
}

void lk_owner_add_process(struct lk_text *owner, pid_t pid) {
    char boot[BOOT_BYTES + 1] = "";
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t size = 0;

    if (file >= 0) {
        size = read(file, boot, BOOT_BYTES);
        (void)close(file);
    }
    lk_owner_add_user(owner);
    lk_text_format(owner, "/%jd:%s", (intmax_t)pid, size == BOOT_BYTES ? boot : "0");
}

/* Whether `rest` is ":HEX:HEX:HEX" to its end. */
static bool is_unique_rest(const char *rest) {
    int count = 0;

    for (; *rest == ':'; count++) {
        size_t digits = strspn(++rest, "0123456789abcdef");
        if (digits == 0) {
            return false;
        }
        rest += digits;
    }
    return count == 3 && *rest == '\0';
}

size_t lk_owner_shown_size(const char *owner) {
    const char *at = strchr(owner, '@');
    const char *slash = strrchr(owner, '/');

    if (at == NULL || slash == NULL || slash < at) {
        return strlen(owner);
    }
    const char *rest = slash + 1 + strspn(slash + 1, "0123456789");
    return rest > slash + 1 && is_unique_rest(rest) ? (size_t)(rest - owner) : strlen(owner);
}
