/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An owner that names the calling shell. A pid alone is reused, and means a different process in a
 * different container; with start time, boot id and pid namespace it is unique. Parts that the
 * system does not provide are left out, which makes the name shorter, never wrong.
 */
#include "cli/parse/owner.h"

#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/process.h"
#include "lockkeeper/lockkeeper.h"

/* The parts' bounds, so that the whole stays within the 128 bytes of an owner. */
enum {
    USER_SIZE_MAX = 24,
    HOST_SIZE_MAX = 32,
    BOOT_SIZE = 8, /* of the boot's random id, in hex */
};

/* Reads the start of a small file of the system as text; empty if it cannot be read. */
static void read_small_file(const char *path, char *ret_text, size_t size) {
    FILE *file = fopen(path, "re");
    size_t used = 0;

    if (file != NULL) {
        used = fread(ret_text, 1, size - 1, file);
        (void)fclose(file);
    }
    ret_text[used] = '\0';
}

static unsigned long long pid_namespace(void) {
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (unsigned long long)status.st_ino : 0;
}

void lk_shell_user(char ret_user[LK_OWNER_TEXT_SIZE]) {
    char host[HOST_SIZE_MAX + 1] = "";
    char uid[16];
    const struct passwd *entry = getpwuid(getuid());
    const char *user = entry != NULL ? entry->pw_name : uid;

    (void)snprintf(uid, sizeof uid, "%lu", (unsigned long)getuid());
    (void)gethostname(host, sizeof host); /* cut short it is still a name */
    host[sizeof host - 1] = '\0';
    (void)snprintf(ret_user, LK_OWNER_TEXT_SIZE, "%.*s@%s", USER_SIZE_MAX, user, host);
}

void lk_shell_owner(char ret_owner[LK_OWNER_TEXT_SIZE]) {
    char user[LK_OWNER_TEXT_SIZE];
    char boot[BOOT_SIZE + 1];
    pid_t shell = lk_process_shell();

    if (shell == 0) {
        /* The parent is in another pid namespace. Every process that entered in this way has the
         * same parent pid, so a fresh owner is safer than one that they would share. */
        lk_owner_make(ret_owner);
        return;
    }
    lk_shell_user(user);
    read_small_file("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    (void)snprintf(ret_owner, LK_OWNER_TEXT_SIZE, "%.*s:%s:%llu:%ld.%llu",
                   USER_SIZE_MAX + HOST_SIZE_MAX + 1, user, boot, pid_namespace(), (long)shell,
                   lk_process_start(shell));
}
