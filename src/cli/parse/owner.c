/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An owner that names the calling process. A pid alone is reused, and means a different process in
 * a different container; with start time, boot id and pid namespace it is unique. A number that the
 * system does not provide is 0.
 */
#include "cli/parse/owner.h"

#include <sys/stat.h>

#include "base/owner.h"
#include "base/random.h"
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

/* `number` beside the caller's pid. In another pid namespace each process that entered it in this
 * way has the same parent pid, 0, so a fresh owner is safer than one that they would share. */
static void make_owner(pid_t caller, unsigned long long number,
                       char ret_owner[LK_OWNER_TEXT_SIZE]) {
    struct lk_text owner = lk_text_in(ret_owner, LK_OWNER_TEXT_SIZE);

    if (caller == 0) {
        lk_owner_make(ret_owner);
        return;
    }
    lk_owner_add_process(&owner, caller);
    lk_text_format(&owner, ":%llu:%llu", pid_namespace(), number);
}

void lk_caller_owner(char ret_owner[LK_OWNER_TEXT_SIZE]) {
    pid_t caller = lk_process_shell();

    make_owner(caller, lk_process_is_shell(caller) ? lk_process_start(caller) : lk_random_draw(),
               ret_owner);
}

void lk_caller_claimant(char ret_owner[LK_OWNER_TEXT_SIZE]) {
    pid_t caller = lk_process_shell();

    make_owner(caller, lk_process_start(caller), ret_owner);
}
