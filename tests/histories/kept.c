/* SPDX-License-Identifier: Apache-2.0 */
/* Histories that have found something in a store once, as short as they could be made. */
#include "history.h"

/* What the asker holds itself is in the way of the one in front of it (R8, R13). */
static const struct move own_lease[] = {
    {.kind = LK_COMMAND_ASK, .owner = "Gil", .parts = "a/b?limit=8&units=3", .style = LK_QUEUE},
    {.kind = LK_COMMAND_ASK, .owner = "Fay", .parts = "a/b/c", .style = LK_QUEUE},
    {.kind = LK_COMMAND_ASK, .owner = "Gil", .parts = "a/b/c", .style = LK_QUEUE},
};

/* What is dead under another root blocks nothing, whether it has been swept or not (R11). */
static const struct move dead_need[] = {
    {.kind = LK_COMMAND_PUSH, .parts = "d", .queue = "c", .id = "1"},
    {.kind = LK_COMMAND_ASK, .owner = "Dee", .parts = "d", .style = LK_QUEUE, .ttl_ms = 500},
    {.kind = LK_COMMAND_TAKE, .pause_us = 800000, .owner = "Ann", .queue = "c", .look_queue = "c"},
};

/* A path may have the name of anything that a store keeps for itself (R1). */
static const struct move inner_names[] = {
    {.kind = LK_COMMAND_ASK, .owner = "Ann", .parts = "a", .style = LK_QUEUE},
    {.kind = LK_COMMAND_PUT, .owner = "Cy", .parts = "lk:waits:Bob", .value = "of Cy"},
    {.kind = LK_COMMAND_PUT, .owner = "Cy", .parts = "lk:waits", .value = "of Cy"},
    {.kind = LK_COMMAND_PUT, .owner = "Cy", .parts = "a:lk:h", .value = "of Cy"},
    {.kind = LK_COMMAND_ASK, .owner = "Bob", .parts = "a", .style = LK_QUEUE},
    {.kind = LK_COMMAND_ASK, .owner = "Eve", .parts = "a", .style = LK_QUEUE},
    {.kind = LK_COMMAND_RELEASE, .owner = "Ann", .parts = "a", .look_path = "lk:waits:Bob"},
    {.kind = LK_COMMAND_RELEASE, .owner = "Bob", .parts = "a", .looks_at_all = true},
};

/* Only the token of the call that ended the claim says that it was this one (R3, R16). */
static const struct move done_again[] = {
    {.kind = LK_COMMAND_PUSH, .queue = "c", .id = "1"},
    {.kind = LK_COMMAND_TAKE, .owner = "Ann", .queue = "c"},
    {.kind = LK_COMMAND_FINISH, .owner = "Ann", .queue = "c", .id = "1"},
    {.kind = LK_COMMAND_FINISH, .owner = "Ann", .queue = "c", .id = "1", .token = TOKEN_LATEST},
    {.kind = LK_COMMAND_PUSH, .queue = "c", .id = "2"},
    {.kind = LK_COMMAND_TAKE, .owner = "Bob", .queue = "c"},
    {.kind = LK_COMMAND_FINISH, .owner = "Bob", .queue = "c", .id = "2", .token = TOKEN_LATEST},
    {.kind = LK_COMMAND_FINISH, .owner = "Bob", .queue = "c", .id = "2", .token = TOKEN_LATEST},
};

/*
 * A deadline that takes effect late does so as at its own moment (R11): what lived then is granted,
 * be it by what its owner is granted at that moment (R8), although its former deadline is over.
 */
static const struct move late_deadline[] = {
    {.kind = LK_COMMAND_ASK, .owner = "Bob", .parts = "a?shared", .style = LK_TRY, .ttl_ms = 20000},
    {.kind = LK_COMMAND_ASK, .owner = "Cy", .parts = "a", .style = LK_WAIT, .ttl_ms = 60000},
    {.kind = LK_COMMAND_ASK, .owner = "Cy", .parts = "a/x a/c", .style = LK_WAIT, .ttl_ms = 40000},
    {.kind = LK_COMMAND_TICK, .pause_us = 50000000, .looks_at_all = true, .look_path = "a"},
};

/*
 * What waits in two roots is granted when the later of its two blockers has ended, in whatever
 * order a store comes to the roots (R11).
 */
static const struct move two_deadlines[] = {
    {.kind = LK_COMMAND_ASK, .owner = "Ann", .parts = "a", .style = LK_TRY, .ttl_ms = 900},
    {.kind = LK_COMMAND_ASK, .owner = "Bob", .parts = "d", .style = LK_TRY, .ttl_ms = 300},
    {.kind = LK_COMMAND_ASK, .owner = "Cy", .parts = "a d", .style = LK_WAIT, .ttl_ms = 2000},
    {.kind = LK_COMMAND_ASK,
     .pause_us = 1200000,
     .leaps = true,
     .owner = "Eve",
     .parts = "a",
     .style = LK_TRY,
     .looks_at_all = true},
};

/* Before a claim or a batch ends, what is due under its other roots takes effect (R11). */
static const struct move end_after_deadline[] = {
    {.kind = LK_COMMAND_PUSH, .parts = "a/x?shared", .queue = "c", .id = "3"},
    {.kind = LK_COMMAND_TAKE, .owner = "Ann", .queue = "c", .ttl_ms = 60000},
    {.kind = LK_COMMAND_ASK, .owner = "Eve", .parts = "a?shared", .style = LK_TRY, .ttl_ms = 500},
    {.kind = LK_COMMAND_ASK, .owner = "Cy", .parts = "a/x/q", .style = LK_WAIT, .ttl_ms = 2000},
    {.kind = LK_COMMAND_ASK, .owner = "Dee", .parts = "a/y", .style = LK_WAIT, .ttl_ms = 2000},
    {.kind = LK_COMMAND_FINISH,
     .pause_us = 800000,
     .owner = "Ann",
     .queue = "c",
     .id = "3",
     .looks_at_all = true},
    {.kind = LK_COMMAND_ASK, .owner = "Ann", .parts = "b/x?shared d", .style = LK_TRY},
    {.kind = LK_COMMAND_ASK, .owner = "Eve", .parts = "b?shared", .style = LK_TRY, .ttl_ms = 500},
    {.kind = LK_COMMAND_ASK, .owner = "Cy", .parts = "b/x/q", .style = LK_WAIT, .ttl_ms = 2000},
    {.kind = LK_COMMAND_ASK, .owner = "Dee", .parts = "b/y", .style = LK_WAIT, .ttl_ms = 2000},
    {.kind = LK_COMMAND_BREAK,
     .pause_us = 800000,
     .parts = "d",
     .at_once = true,
     .looks_at_all = true},
};

/* What is granted late may have got its token at any moment: under another root, the same one. */
static const struct move same_number[] = {
    {.kind = LK_COMMAND_ASK, .owner = "Bob", .parts = "b", .style = LK_TRY, .ttl_ms = 1000},
    {.kind = LK_COMMAND_ASK, .owner = "Eve", .parts = "b", .style = LK_QUEUE, .ttl_ms = 5000},
    {.kind = LK_COMMAND_ASK, .pause_us = 1500000, .owner = "Bob", .parts = "d", .style = LK_TRY},
    {.kind = LK_COMMAND_RELEASE,
     .pause_us = 500000,
     .owner = "Eve",
     .parts = "b",
     .token = TOKEN_FOREIGN,
     .looks_at_all = true},
};

/* The claim perishes at its last attempt and the item goes, in one step. */
static const struct move parked_and_dropped[] = {
    {.kind = LK_COMMAND_PUSH, .owner = "Dee", .queue = "jobs", .id = "p"},
    {.kind = LK_COMMAND_TAKE, .owner = "Dee", .queue = "jobs", .ttl_ms = 900, .max_attempts = 1},
    {.kind = LK_COMMAND_DROP,
     .pause_us = 1000000,
     .owner = "Eve",
     .queue = "jobs",
     .id = "p",
     .only_parked = true,
     .looks_at_all = true,
     .look_queue = "jobs"},
};

/*
 * A repeated ask for several items gives the next one the token that it has got before, although
 * another root has drawn a greater one since (R4, R16): a store may have forgotten whose it was.
 */
static const struct move shared_later[] = {
    {.kind = LK_COMMAND_PUSH, .queue = "jobs", .id = "1"},
    {.kind = LK_COMMAND_PUSH, .parts = "pool?limit=3&units=2", .queue = "jobs", .id = "2"},
    {.kind = LK_COMMAND_TAKE, .owner = "Cy", .queue = "jobs", .ask_number = 1},
    {.kind = LK_COMMAND_ASK, .pause_us = 1000000, .owner = "Bob", .parts = "b", .style = LK_TRY},
    {.kind = LK_COMMAND_RELEASE, .owner = "Bob", .parts = "b"},
    {.kind = LK_COMMAND_TAKE,
     .pause_us = 1000000,
     .owner = "Cy",
     .queue = "jobs",
     .series = "1 2",
     .ask_number = 1,
     .looks_at_all = true},
};

/* The same, where it is a root of the next item's: no store shares the token. */
static const struct move drawn_since[] = {
    {.kind = LK_COMMAND_PUSH, .queue = "jobs", .id = "1"},
    {.kind = LK_COMMAND_PUSH, .parts = "pool?limit=3&units=2", .queue = "jobs", .id = "2"},
    {.kind = LK_COMMAND_TAKE, .owner = "Cy", .queue = "jobs", .ask_number = 1},
    {.kind = LK_COMMAND_ASK, .pause_us = 1000000, .owner = "Bob", .parts = "pool", .style = LK_TRY},
    {.kind = LK_COMMAND_RELEASE, .owner = "Bob", .parts = "pool"},
    {.kind = LK_COMMAND_TAKE,
     .pause_us = 1000000,
     .owner = "Cy",
     .queue = "jobs",
     .series = "1 2",
     .ask_number = 1,
     .looks_at_all = true},
    {.kind = LK_COMMAND_TAKE,
     .owner = "Cy",
     .queue = "jobs",
     .series = "1 2",
     .ask_number = 3,
     .looks_at_all = true},
};

/* The same so long ago that every store has forgotten the root: its draw counts all the same. */
static const struct move drawn_long_ago[] = {
    {.kind = LK_COMMAND_PUSH, .queue = "jobs", .id = "1"},
    {.kind = LK_COMMAND_PUSH, .parts = "pool?limit=3&units=2", .queue = "jobs", .id = "2"},
    {.kind = LK_COMMAND_TAKE, .owner = "Cy", .queue = "jobs", .ttl_ms = 36000000, .ask_number = 1},
    {.kind = LK_COMMAND_ASK, .pause_us = 1000000, .owner = "Bob", .parts = "pool", .style = LK_TRY},
    {.kind = LK_COMMAND_RELEASE, .owner = "Bob", .parts = "pool"},
    {.kind = LK_COMMAND_PUSH, .pause_us = 1800000000, .queue = "c", .id = "1"},
    {.kind = LK_COMMAND_TAKE,
     .pause_us = 1800000000,
     .owner = "Cy",
     .queue = "jobs",
     .series = "1 2",
     .ttl_ms = 36000000,
     .ask_number = 1,
     .looks_at_all = true},
};

/* What a break ends, it ends by ticket, also where the newer request was held first (R12, R21). */
static const struct move broken_by_ticket[] = {
    {.kind = LK_COMMAND_PUSH, .parts = "d", .queue = "jobs", .id = "1"},
    {.kind = LK_COMMAND_ASK, .owner = "Bob", .parts = "b", .style = LK_TRY},
    {.kind = LK_COMMAND_ASK, .pause_us = 1000, .owner = "Eve", .parts = "b d", .style = LK_QUEUE},
    {.kind = LK_COMMAND_TAKE, .pause_us = 1000, .owner = "Eve", .queue = "jobs", .max_attempts = 1},
    {.kind = LK_COMMAND_RELEASE, .pause_us = 1000, .owner = "Bob", .parts = "b"},
    {.kind = LK_COMMAND_BREAK,
     .pause_us = 1000,
     .owner = "Eve",
     .parts = "d",
     .at_once = true,
     .looks_at_all = true},
};

/* What one call has claimed has one ticket; a break of what all of it needs ends all (R12, R17). */
static const struct move broken_together[] = {
    {.kind = LK_COMMAND_PUSH, .parts = "a d", .queue = "jobs", .id = "p", .series = "3 x p 1"},
    {.kind = LK_COMMAND_TAKE,
     .pause_us = 1000,
     .owner = "Dee",
     .queue = "jobs",
     .id = "3",
     .series = "1 2 3 x p",
     .ttl_ms = 60000,
     .max_attempts = 2,
     .ask_number = 3},
    {.kind = LK_COMMAND_BREAK,
     .pause_us = 1000,
     .owner = "Ann",
     .parts = "d",
     .looks_at_all = true},
    {.kind = LK_COMMAND_BREAK,
     .pause_us = 1000,
     .owner = "Ann",
     .parts = "d",
     .at_once = true,
     .looks_at_all = true},
};

/* An owner whose lease has perished unswept may have the same one again, and again (R3, R11). */
static const struct move dead_twin[] = {
    {.kind = LK_COMMAND_ASK, .owner = "Bob", .parts = "c/x?limit=3&units=2", .ttl_ms = 1700},
    {.kind = LK_COMMAND_ASK,
     .pause_us = 2300000,
     .owner = "Bob",
     .parts = "c/x?limit=3&units=2",
     .style = LK_WAIT,
     .ttl_ms = 1700},
    {.kind = LK_COMMAND_ASK,
     .pause_us = 600000,
     .owner = "Bob",
     .parts = "c/x?limit=3&units=2",
     .style = LK_WAIT,
     .ttl_ms = 1700,
     .looks_at_all = true},
    {.kind = LK_COMMAND_ASK,
     .owner = "Bob",
     .parts = "c/x?limit=4&units=3",
     .style = LK_QUEUE,
     .ttl_ms = 1700,
     .looks_at_all = true},
};

#define KEPT(name, moves)                                                                          \
    { name, sizeof(moves) / sizeof((moves)[0]), moves, false }

const struct kept histories_kept[] = {
    KEPT("a cycle through a lease of the asker", own_lease),
    KEPT("a need that the dead hold", dead_need),
    KEPT("values with inner names", inner_names),
    KEPT("what is done twice", done_again),
    KEPT("a late deadline", late_deadline),
    KEPT("two deadlines in two roots", two_deadlines),
    KEPT("an end after a deadline in another root", end_after_deadline),
    KEPT("one number in two roots", same_number),
    KEPT("an item that is parked and dropped in one step", parked_and_dropped),
    KEPT("a token that is shared past another root's", shared_later),
    KEPT("a token that is not shared, as the root has drawn since", drawn_since),
    KEPT("a token that is not shared, as the root drew long ago", drawn_long_ago),
    KEPT("a lease beside a dead one of its owner", dead_twin),
    KEPT("a break of what was claimed together", broken_together),
    {"a break of what was not granted by ticket",
     sizeof broken_by_ticket / sizeof broken_by_ticket[0], broken_by_ticket, true},
};
const size_t histories_kept_count = sizeof histories_kept / sizeof histories_kept[0];
