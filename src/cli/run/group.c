/* SPDX-License-Identifier: Apache-2.0 */
/* A group of CMD's own is signalled by one call, CMD's part of a shared one member by member. */
#include "cli/run/group.h"

#include <signal.h>
#include <unistd.h>

#include "cli/run/descendants.h"

/* Everything below lk but its own helpers. */
static struct lk_run_scope everything(const struct lk_run_child *child,
                                      const struct lk_run_guard *guard) {
    return (struct lk_run_scope){
        .root = getpid(), .spared = guard->pid, .spared_too = child->witness.pid};
}

void lk_run_group_signal(const struct lk_run_child *child, const struct lk_run_guard *guard,
                         int signal) {
    struct lk_run_scope scope = everything(child, guard);

    if (!child->shares_group) {
        kill(-child->pid, signal);
        return;
    }
    scope.within = getpgrp();
    if (lk_run_descendants_signal(&scope, signal) == 0) {
        kill(child->pid, signal); /* /proc is not readable */
    }
}

void lk_run_group_signal_all(const struct lk_run_child *child, const struct lk_run_guard *guard,
                             int signal) {
    struct lk_run_scope scope = everything(child, guard);

    if (child->shares_group) {
        kill(child->pid, signal);
    } else {
        scope.group = child->pid;
        kill(-child->pid, signal);
    }
    lk_run_descendants_signal(&scope, signal);
}

bool lk_run_group_is_left(const struct lk_run_child *child, const struct lk_run_guard *guard) {
    const struct lk_run_scope scope = everything(child, guard);

    return lk_run_descendants_signal(&scope, 0) > 0;
}

void lk_run_group_pass(const struct lk_run_child *child, const struct lk_run_guard *guard,
                       int signal) {
    switch (lk_run_signal_target(signal)) {
    case LK_RUN_TO_GROUP:
        if (child->shares_group) {
            lk_run_group_signal(child, guard, signal);
        } else if (kill(-child->pid, signal) != 0) {
            kill(child->pid, signal); /* CMD has moved to another group */
        }
        break;
    case LK_RUN_TO_COMMAND:
        kill(child->pid, signal);
        break;
    case LK_RUN_TO_NOBODY:
        break;
    }
}

bool lk_run_group_has_had(struct lk_run_child *child, int signal, bool is_from_kernel) {
    /* The witness is younger than CMD: what it lacks may have come before there was a CMD. */
    return child->shares_group
           && (child->witness.pid != 0 ? lk_run_witness_has(&child->witness, signal)
                                       : is_from_kernel);
}
