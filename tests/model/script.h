/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts in virtual time: lines that read like the worked examples of docs/rules.md, run on the
 * model and the reference at once.
 *
 *   EVENT -> OUTCOME [EXPECTATION...]        the event as in history.h
 *       for=A,B      whose requests are in the way, holders first, then by ticket
 *       cycle=A,B    the owners of a deadlock
 *       in_use=N  broken=N
 *       created, again                       whether this ask put the request there
 *       item=ID      which item it was about; attempts=N, due=MS, priority=N, exit=N, error=TEXT,
 *       noexit: how that is now
 *       stolen, parked, dropped              a change says so
 *       value=TEXT, sure, doubted            the value that came with a grant; novalue: none came
 *       keep=x       keeps its token as $x   token=$x, token>$x: compared with one kept
 *   ? OWNER PATH... STATE [EXPECTATION...]   the state of a request: held, waiting, gone
 *       left=MS      until its deadline      note=TEXT, revoked, token=$x, token>$x
 *   ? value PATH TEXT sure|doubted           what is kept there
 *   ? value PATH none
 *   ? item QUEUE ID STATE [EXPECTATION...]   ready, delayed, claimed, parked, gone; attempts=N,
 *       due=MS, owner=OWNER and what is expected of its claim, as of any request
 *   ? queue QUEUE NAME=N...                  what was counted, by the names of lk_queue_counts
 *   ? live N                                 how many requests live
 */
#ifndef LK_TESTS_MODEL_SCRIPT_H
#define LK_TESTS_MODEL_SCRIPT_H

#include "model/model.h"

/* Runs the script; fails the test with the line that does not come true. */
void script_run(const struct lk_quotas *quotas, const char *const *lines, size_t count);

#define SCRIPT(...)                                                                                \
    script_run(NULL, (const char *const[]){__VA_ARGS__},                                           \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

#endif
