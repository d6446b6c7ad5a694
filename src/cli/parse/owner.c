/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An owner that names the calling shell. A pid alone is reused, and means a different process in a
 * different container; with start time, boot id and pid namespace it is unique. A number that the
 * system does not provide is 0.
 */
#include "cli/parse/owner.h"

#include <sys/stat.h>

#include "base/owner.h"
#include "cli/process.h"
#include "lockkeeper/lockkeeper.h"

static unsigned long long pid_namespace(void) {
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (unsigned long long)status.st_ino : 0;
}

void lk_shell_user(char ret_user[LK_OWNER_TEXT_SIZE]) {
    struct lk_text user = lk_text_in(ret_user, LK_OWNER_TEXT_SIZE);

    lk_owner_add_user(&user);
}

void lk_shell_owner(char ret_owner[LK_OWNER_TEXT_SIZE]) {
    struct lk_text owner = lk_text_in(ret_owner, LK_OWNER_TEXT_SIZE);
    pid_t shell = lk_process_shell();

    if (shell == 0) {
        /* The parent is in another pid namespace. Every process that entered in this way has the
         * same parent pid, so a fresh owner is safer than one that they would share. */
        lk_owner_make(ret_owner);
        return;
    }
    lk_owner_add_process(&owner, shell);
    lk_text_format(&owner, ":%llu:%llu", pid_namespace(), lk_process_start(shell));
}
