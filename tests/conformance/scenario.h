/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scenario as it was read: what is done, in order, and what the rules say must come of it.
 * README.md is the language's description for authors. Parsing (parse.c, checks.c) knows
 * nothing of stores, playing (play.c) nothing of files.
 */
#ifndef CONFORMANCE_SCENARIO_H
#define CONFORMANCE_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lockkeeper/terms.h"
#include "words.h"

enum {
    OWNER_MAX = 129, /* including the number of `times N` */
    SCENARIO_RULES_MAX = 24,
    SCENARIO_STEPS_MAX = 200,
    SCENARIOS_PER_FILE_MAX = 64,
    STEP_PARTS_MAX = 20, /* more than R2 allows, so that too many can be asked for */
    STEP_CHECKS_MAX = 12,
    STEP_ENTRIES_MAX = 64,
    RULE_NUMBER_MAX = 99,
};

/* How a ticket or token must relate to what was seen before. */
enum draw_relation {
    DRAW_NONE,     /* there is none */
    DRAW_SAME,     /* as last seen for this owner and these paths */
    DRAW_NEW,      /* greater than every ticket and token seen at its roots so far (R4) */
    DRAW_ABOVE,    /* greater than one that was kept by name */
    DRAW_IS_TICKET /* a token that is the request's ticket: an immediate grant */
};

enum check_kind {
    CHECK_BLOCKED_BY, /* blockers, in order; none: "nobody" */
    CHECK_NAMES,      /* the first N owners of `times N`, in order */
    CHECK_POSITION,
    CHECK_IN_USE,
    CHECK_CREATED,
    CHECK_CYCLE, /* owners, in order */
    CHECK_TOKEN,
    CHECK_TICKET,
    CHECK_EXPIRES_WITHIN,
    CHECK_EXPIRES_AFTER,
    CHECK_AGE_WITHIN,
    CHECK_TTL,
    CHECK_NOTE,
    CHECK_FIXED,
    CHECK_REVOKED,
    CHECK_SAYS, /* the error's text contains this */
    CHECK_COUNT,
    CHECK_SIZE,      /* of a listed value */
    CHECK_REASON,    /* audit, an event */
    CHECK_BROKEN_BY, /* an event: the administrator */
    CHECK_VALUE,     /* text; NULL: there is none */
    CHECK_VALUES,    /* of all parts, in order; "none": there is none */
    CHECK_DOUBTS,    /* whether they are in doubt, in order: "yes" or "no" */
    CHECK_IN_DOUBT,
    CHECK_ADDED,   /* a push */
    CHECK_CHANGED, /* the same */
    CHECK_WAS,     /* the same: the state that it has found */
    CHECK_ITEM,    /* the id of what was claimed */
    CHECK_ITEMS,   /* the ids of what was claimed, in order */
    CHECK_ATTEMPT, /* of a claim */
    CHECK_STOLEN,
    CHECK_ATTEMPTS,   /* of an item */
    CHECK_NEEDS,      /* of an item, in order; none: "nothing" */
    CHECK_DUE_WITHIN, /* of an item */
    CHECK_PRIORITY,   /* of an item */
    CHECK_EXIT,       /* of an item; relation DRAW_NONE: there is none */
    CHECK_ERROR,      /* of an item; NULL: there is none */
    CHECK_PROGRESS,   /* the same */
    CHECK_COUNTED,    /* a count of a queue, by its name */
    CHECK_OLDEST,     /* of the ready items: at least so old; relation DRAW_NONE: there is none */
    CHECK_KEEP_TOKEN,
    CHECK_KEEP_OWNER,
};

/* One blocker, with as much about it as the scenario says. */
struct blocker_check {
    const char *owner;
    const char *path; /* NULL: any */
    const char *note; /* NULL: any */
    bool state_said;
    bool held;
};

struct check {
    enum check_kind kind;
    enum draw_relation relation;
    const char *text;
    int64_t number; /* a count, a duration in ms, or a bool */
    const struct blocker_check *blockers;
    const char *const *owners; /* or needs */
    size_t count;              /* of blockers, owners or needs */
};

/* One line of what list, show, audit, values, items or queues must give. */
struct entry_check {
    const char *owner; /* NULL: an unclaimed item, or an event without an owner */
    const char *part;  /* with its mode, as README.md spells it; an item's id; an event's parts; a
                          queue */
    const char *by;    /* audit; of an event, how something was refused */
    const char *state; /* of an item; an event's name */
    bool held;         /* of an event: a deletion */
    const struct check *checks;
    size_t check_count;
};

enum step_kind {
    STEP_ASK,    /* asks: in queue style */
    STEP_TRY,    /* tries */
    STEP_WAIT,   /* waits for: blocks the scenario */
    STEP_BEGIN,  /* begins waiting for: it goes on */
    STEP_GET,    /* gets: what has become of a wait wait */
    STEP_CANCEL, /* cancels a wait wait, and what has become of it */
    STEP_RENEW,
    STEP_RELEASE,
    STEP_BREAK,
    STEP_PAUSE,
    STEP_REOPEN,
    STEP_HOLDS,   /* expect OWNER holds PARTS */
    STEP_WAITS,   /* expect OWNER waits for PARTS */
    STEP_HAS_NOT, /* expect OWNER has nothing at PARTS */
    STEP_NOTHING, /* expect nothing [below PATH] */
    STEP_LIST,
    STEP_SHOW,
    STEP_AUDIT,
    STEP_PUT,
    STEP_DELETE,
    STEP_READ,
    STEP_VALUES, /* values [PREFIX] */
    STEP_PUSH,   /* from here on a part is QUEUE/ID, */
    STEP_DONE,
    STEP_RETRY,
    STEP_UNPARK, /* or, with `all`, QUEUE */
    STEP_DROP,   /* likewise */
    STEP_REMOVE, /* lk_cancel_item() */
    STEP_TELL,   /* lk_progress() */
    STEP_CLAIM,  /* or QUEUE */
    STEP_ITEMS,
    STEP_COUNTS,
    STEP_QUEUES, /* queues [PREFIX] */
    STEP_WATCH,  /* watch [again] [PREFIX] */
    STEP_EVENTS, /* what has happened since */
    STEP_BOUND,  /* bound NAME=N..., each a part */
};

struct step_options {
    int64_t ttl_ms;   /* 0: unsaid */
    int64_t wait_ms;  /* -1: unsaid */
    int64_t until_ms; /* from now */
    bool until_said;
    const char *note;  /* NULL: unsaid */
    const char *token; /* the name of one that was kept; NULL: unsaid */
    bool shared;
    uint32_t limit;
    uint32_t units;
    int64_t blockers; /* -1: unsaid */
    uint32_t times;   /* so many owners ask, NAME1 and so on; 0: just the one */
    const char *reason;
    const char *of_owner;
    bool at_once;
    bool value;                           /* ask for the parts' values */
    const char *with;                     /* a value that is put or pushed; NULL: unsaid */
    const char *more[STEP_PARTS_MAX - 1]; /* a release: those of the paths behind the first one */
    size_t more_count;
    int64_t delay_ms; /* 0: unsaid */
    const char *const *needs;
    size_t need_count;
    uint32_t max_attempts; /* 0: unsaid */
    int64_t priority;
    uint32_t most;     /* claims: up to so many at once; 0: unsaid */
    bool all;          /* unparks, drops: all that are parked */
    bool uncounted;    /* retries */
    bool parks;        /* the same */
    bool exit_said;    /* the same */
    int64_t exit_code; /* retries */
    const char *error; /* retries; NULL: unsaid */
    bool again;        /* watch: from where it was; pushes: an item that exists, too */
    bool replacing;    /* pushes */
    int64_t keep_ms;   /* pushes, finishes; 0: unsaid */
};

struct step {
    int line;
    const char *text; /* as written */
    enum step_kind kind;
    const char *owner;        /* NULL: an owner that the library generates */
    const char *const *parts; /* or the one path of break, list, show, audit, nothing */
    size_t part_count;
    struct step_options options;
    lk_outcome outcome; /* what must come of it */
    const struct check *checks;
    size_t check_count;
    struct entry_check *entries; /* list, show, audit, values, items, queues */
    size_t entry_count;
};

struct scenario {
    const char *file; /* its name without folder and ending */
    int line;
    const char *name;
    int rules[SCENARIO_RULES_MAX];
    size_t rule_count;
    unsigned needs; /* of enum lk_capability */
    struct step *steps;
    size_t step_count;
};

struct scenario_file {
    struct arena arena;
    struct scenario scenarios[SCENARIOS_PER_FILE_MAX];
    size_t count;
};

/*
 * Reads the text of a file; `name` is what complaints and reports call it. False with a complaint
 * that begins with NAME:LINE. Free with scenario_file_free() in both cases.
 */
bool scenario_file_read(struct scenario_file *file, const char *name, const char *text,
                        struct complaint *complaint);
void scenario_file_free(struct scenario_file *file);

/* The words that `needs` knows, by index; NULL behind the last. */
struct capability_name {
    const char *name;
    unsigned capability;
    const char *title;
};
extern const struct capability_name capability_names[];

/* What a step needs of an engine, as far as the step itself shows. */
unsigned step_needs(const struct step *step);

/* ---- shared by the readers ------------------------------------------------------------------- */

/* Reads ", CHECK, CHECK..." up to the end of the line. */
bool checks_read(struct arena *arena, struct words *words, const struct check **ret_checks,
                 size_t *ret_count, struct complaint *complaint);

bool duration_read(struct words *words, int64_t *ret_ms, struct complaint *complaint);
bool number_read(struct words *words, int64_t *ret_number, struct complaint *complaint);

/* A plain or quoted word. */
bool name_read(struct words *words, const char *what, const char **ret_name,
               struct complaint *complaint);

bool line_end_read(struct words *words, struct complaint *complaint);

/*
 * What follows '|' below a step of this kind: OWNER holds PART | OWNER waits for PART; ADMIN
 * broke PART held|awaited by OWNER; ID STATE [by OWNER]; QUEUE; EVENT [OUTCOME] [PARTS] [by
 * OWNER].
 */
bool entry_read(struct arena *arena, struct words *words, enum step_kind kind,
                struct entry_check *ret_entry, struct complaint *complaint);

#endif
