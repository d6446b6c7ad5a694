/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All short histories of three owners over a few related paths, model against reference after
 * every step. Each world is an alphabet of events; two questions are asked of it:
 *
 *   - every history up to a length, none left out but those that differ from another one only in
 *     the names of the owners (the first to act is A, the next new one B), or in an event that was
 *     refused and left nothing behind;
 *   - every event in every state that can be reached in more steps than that. Two states are the
 *     same when the reference lists the same requests in the same orders: of arrival, of tickets
 *     and tokens, of deadlines.
 *
 * Time. An event moves the clock by a quarter of what the event before it did, so that only the
 * event `expire`, which goes to the next deadline, reaches a deadline; then what comes depends on
 * the order of deadlines alone. Wall clocks move by a millisecond, so that numbers are exact.
 *
 * LK_TEST_SCALE below 100 takes a step off the lengths, below 10 two; above 100 it adds one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "arena.h"
#include "history.h"
#include "lockstep.h"

enum {
    OWNERS = 3,
    LENGTH_MAX = 10,
    LETTERS_MAX = 96,
    TEMPLATES_MAX = 28,
    TEXT_MAX = 64,
    STATES_MAX = 1 << 20,
    KEY_MAX = 640,
};

/* The events of each owner, and those without one. */
struct world {
    const char *name; /* its first word is the argument that asks for it alone */
    const char *of_owner[TEMPLATES_MAX];
    const char *of_nobody[6];
    size_t length;      /* of histories */
    size_t deep_length; /* of the shortest way to a state */
};

static const struct world worlds[] = {
    {.name = "tree: parent and siblings, exclusive and shared, pairs",
     .of_owner = {"queue r", "queue r?shared", "queue r/a", "queue r/a?shared", "queue r/b",
                  "queue r/a r/b", "queue r/a?shared r/b", "try r/a", "try r?shared", "release r",
                  "release r/a", "release r/b", "release r/a r/b"},
     .of_nobody = {"expire"},
     .length = 5,
     .deep_length = 5},
    {.name = "chain: three levels, conversions, waits",
     .of_owner = {"wait r", "queue r?shared", "queue r/a", "queue r/a?shared", "wait r/a/b",
                  "queue r/a/b?shared", "try r/a", "renew r/a", "release r", "release r/a",
                  "release r/a/b"},
     .of_nobody = {"expire", "break r/a", "break r now"},
     .length = 5,
     .deep_length = 5},
    {.name = "pool: limits, units, one request beside another",
     .of_owner = {"queue p?limit=1", "queue p?limit=2", "queue p?limit=3&units=2", "try p?limit=2",
                  "queue p?shared", "queue p", "queue p?limit=2 q", "queue q", "release p",
                  "release q", "release p q"},
     .of_nobody = {"expire"},
     .length = 5,
     .deep_length = 5},
    {.name = "limits in a tree: a pool below an exclusive lock",
     .of_owner = {"queue r", "queue r?shared", "queue r/p?limit=1", "queue r/p?limit=2",
                  "try r/p?shared", "queue r/p?limit=2 r/q", "queue r/q", "release r",
                  "release r/p", "release r/q", "release r/p r/q"},
     .of_nobody = {"expire", "break r"},
     .length = 4,
     .deep_length = 5},
};

/* One event of the alphabet. */
struct letter {
    char text[TEXT_MAX];
    struct history_command command;
    size_t owner; /* OWNERS: no owner's */
    bool expires;
};

/* A state that was reached, by the letters that led there first. */
struct reached {
    unsigned char letters[LENGTH_MAX];
    size_t length;
};

struct enumeration {
    const struct world *world;
    struct letter letters[LETTERS_MAX];
    size_t letter_count;
    size_t length; /* of histories, at most */
    unsigned char path[LENGTH_MAX];
    struct lockstep lockstep;
    struct arena *arena;
    uint64_t histories;

    uint64_t *keys; /* hashes of the states reached; 0: free */
    struct reached *states;
    size_t state_count;
};

/* ---- the alphabet ---- */

static void add_letter(struct enumeration *enumeration, const char *format, size_t owner) {
    struct letter *letter = &enumeration->letters[enumeration->letter_count++];
    struct lk_times times = history_start();

    assert_true(enumeration->letter_count <= LETTERS_MAX);
    letter->owner = owner;
    letter->expires = strcmp(format, "expire") == 0;
    if (letter->expires) {
        snprintf(letter->text, sizeof letter->text, "pass");
    } else if (owner < OWNERS) {
        snprintf(letter->text, sizeof letter->text, "%c %s", (char)('A' + owner), format);
    } else {
        snprintf(letter->text, sizeof letter->text, "%s", format);
    }
    assert_null(history_read(letter->text, strlen(letter->text), NULL, &times, &letter->command));
}

static void add_letters(struct enumeration *enumeration) {
    const struct world *world = enumeration->world;

    for (size_t i = 0; i < TEMPLATES_MAX && world->of_owner[i] != NULL; i++) {
        for (size_t owner = 0; owner < OWNERS; owner++) {
            add_letter(enumeration, world->of_owner[i], owner);
        }
    }
    for (size_t i = 0; i < 6 && world->of_nobody[i] != NULL; i++) {
        add_letter(enumeration, world->of_nobody[i], OWNERS);
    }
}

/* ---- states, kept and brought back ---- */

struct kept {
    struct arena_copy arena;
    struct lockstep lockstep; /* with copies of what it points to; the model stays in the arena */
};

static void *copied(const void *bytes, size_t size) {
    void *copy = malloc(size + 1);

    if (copy == NULL) {
        abort();
    }
    if (size > 0) {
        memcpy(copy, bytes, size);
    }
    return copy;
}

/* A copy of everything in the lockstep but the model. */
static struct lockstep copy_lockstep(const struct lockstep *lockstep) {
    struct lockstep copy = *lockstep;

    copy.reference = lk_reference_copy(lockstep->reference);
    copy.matches = copied(lockstep->matches, lockstep->match_count * sizeof *lockstep->matches);
    copy.roots = copied(lockstep->roots, lockstep->root_count * sizeof *lockstep->roots);
    copy.before = NULL;
    copy.before_count = 0;
    return copy;
}

static void drop_lockstep(struct lockstep *lockstep) {
    lk_reference_free(lockstep->reference);
    free(lockstep->matches);
    free(lockstep->roots);
    free(lockstep->before);
}

static void keep(struct enumeration *enumeration, struct kept *kept) {
    arena_keep(enumeration->arena, &kept->arena);
    kept->lockstep = copy_lockstep(&enumeration->lockstep);
}

static void bring_back(struct enumeration *enumeration, const struct kept *kept) {
    arena_bring_back(enumeration->arena, &kept->arena);
    drop_lockstep(&enumeration->lockstep);
    enumeration->lockstep = copy_lockstep(&kept->lockstep);
}

static void drop(struct kept *kept) {
    free(kept->arena.bytes);
    drop_lockstep(&kept->lockstep);
}

static void start(struct enumeration *enumeration) {
    arena_clear(enumeration->arena);
    lockstep_open(&enumeration->lockstep, NULL, 0, &enumeration->arena->allocator);
    enumeration->lockstep.times = history_start();
}

/* ---- one step ---- */

static void report(const struct enumeration *enumeration, size_t count, const char *wrong) {
    for (size_t i = 0; i < count; i++) {
        const struct letter *letter = &enumeration->letters[enumeration->path[i]];
        print_message("%s%s\n", letter->text, letter->expires ? " (to the next deadline)" : "");
    }
    fail_msg("%s: %s", enumeration->world->name, wrong);
}

/* Steps the letter as the `at`-th of the path; fails the test where the two sides differ. */
static void step(struct enumeration *enumeration, size_t at, size_t letter_index) {
    struct letter *letter = &enumeration->letters[letter_index];
    struct lk_times *times = &letter->command.command.times;
    const char *wrong;

    *times = enumeration->lockstep.times;
    times->now_us += INT64_C(1) << (2 * (LENGTH_MAX - at));
    times->wall_us += HISTORY_STEP_US;
    if (letter->expires) {
        times->now_us = lk_reference_next_deadline(enumeration->lockstep.reference);
    }
    enumeration->path[at] = (unsigned char)letter_index;
    enumeration->histories++;
    wrong = lockstep_step(&enumeration->lockstep, &letter->command.command);
    if (wrong != NULL) {
        report(enumeration, at + 1, wrong);
    }
}

/* Whether this letter may come next: owners act for the first time in their order. */
static bool may_come(const struct enumeration *enumeration, size_t length, size_t letter_index) {
    const struct letter *letter = &enumeration->letters[letter_index];
    size_t seen = 0;

    for (size_t i = 0; i < length; i++) {
        size_t owner = enumeration->letters[enumeration->path[i]].owner;
        seen = owner < OWNERS && owner + 1 > seen ? owner + 1 : seen;
    }
    if (letter->expires) {
        return lk_reference_next_deadline(enumeration->lockstep.reference) != LK_NEVER;
    }
    return letter->owner == OWNERS || letter->owner <= seen;
}

/* Whether the last step was refused and left nothing: the history without it leads here too. */
static bool was_for_nothing(const struct enumeration *enumeration) {
    const struct lk_effects *effects = enumeration->lockstep.effects;

    return effects->change_count == 0;
}

/* ---- every history up to a length ---- */

static void explore(struct enumeration *enumeration, size_t at) {
    struct kept kept = {.arena = {.used = 0}};

    keep(enumeration, &kept);
    for (size_t i = 0; i < enumeration->letter_count; i++) {
        if (!may_come(enumeration, at, i)) {
            continue;
        }
        step(enumeration, at, i);
        if (at + 1 < enumeration->length && !was_for_nothing(enumeration)) {
            explore(enumeration, at + 1);
        }
        bring_back(enumeration, &kept);
    }
    drop(&kept);
}

/* ---- every event in every state ---- */

struct key {
    unsigned char bytes[KEY_MAX];
    size_t size;
};

static void put(struct key *key, uint64_t number) {
    if (key->size == KEY_MAX) {
        fail_msg("a state is larger than its key");
    }
    key->bytes[key->size++] = (unsigned char)number;
}

/* How many of the numbers are smaller: its place in the order. */
static uint64_t rank(uint64_t number, const uint64_t *numbers, size_t count) {
    uint64_t smaller = 0;

    for (size_t i = 0; i < count; i++) {
        smaller += numbers[i] < number;
    }
    return smaller;
}

static void put_request(struct key *key, const struct lk_reference_request *request) {
    put(key, (uint64_t)request->owner.bytes[0]);
    put(key, request->state);
    put(key, request->revoked);
    put(key, request->attended);
    put(key, request->part_count);
    for (size_t i = 0; i < request->part_count; i++) {
        const struct lk_part *part = &request->parts[i];
        for (size_t byte = 0; byte < part->path.size; byte++) {
            put(key, (unsigned char)part->path.bytes[byte]);
        }
        put(key, '?');
        put(key, part->mode);
        put(key, part->limit);
        put(key, part->units);
    }
}

static void describe(const struct enumeration *enumeration, struct key *ret_key) {
    size_t count;
    const struct lk_reference_request *live =
        lk_reference_live(enumeration->lockstep.reference, &count);
    uint64_t numbers[2 * KEY_MAX];
    uint64_t deadlines[KEY_MAX];

    ret_key->size = 0;
    for (size_t i = 0; i < count; i++) {
        numbers[2 * i] = live[i].ticket;
        numbers[2 * i + 1] = live[i].token;
        deadlines[i] = (uint64_t)live[i].deadline_us;
    }
    for (size_t i = 0; i < count; i++) {
        put_request(ret_key, &live[i]);
        put(ret_key, rank(live[i].ticket, numbers, 2 * count));
        put(ret_key, rank(live[i].token, numbers, 2 * count));
        put(ret_key, rank((uint64_t)live[i].deadline_us, deadlines, count));
    }
}

/* FNV-1a, 64 bits: among a million states a false match is not to be expected. */
static uint64_t hash(const struct key *key) {
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < key->size; i++) {
        sum = (sum ^ key->bytes[i]) * UINT64_C(0x100000001b3);
    }
    return sum != 0 ? sum : 1;
}

/* Notes the present state, `length` letters away from the start; false: it is known. */
static bool note_state(struct enumeration *enumeration, size_t length) {
    struct key key;
    uint64_t sum;
    size_t at;
    struct reached *reached = &enumeration->states[enumeration->state_count];

    describe(enumeration, &key);
    sum = hash(&key);
    for (at = sum % (2 * STATES_MAX); enumeration->keys[at] != 0;
         at = (at + 1) % (2 * STATES_MAX)) {
        if (enumeration->keys[at] == sum) {
            return false;
        }
    }
    enumeration->keys[at] = sum;
    assert_true(enumeration->state_count < STATES_MAX);
    memcpy(reached->letters, enumeration->path, length);
    reached->length = length;
    enumeration->state_count++;
    return true;
}

/* Goes to a state that was reached before. */
static void go(struct enumeration *enumeration, const struct reached *reached) {
    drop_lockstep(&enumeration->lockstep);
    start(enumeration);
    for (size_t i = 0; i < reached->length; i++) {
        step(enumeration, i, reached->letters[i]);
    }
}

static void try_all_letters(struct enumeration *enumeration, size_t length, bool is_last) {
    struct kept kept = {.arena = {.used = 0}};

    keep(enumeration, &kept);
    for (size_t i = 0; i < enumeration->letter_count; i++) {
        if (may_come(enumeration, length, i)) {
            step(enumeration, length, i);
            if (!is_last) {
                note_state(enumeration, length + 1);
            }
            bring_back(enumeration, &kept);
        }
    }
    drop(&kept);
}

static void explore_states(struct enumeration *enumeration, size_t length) {
    enumeration->keys = calloc(2 * STATES_MAX, sizeof *enumeration->keys);
    enumeration->states = calloc(STATES_MAX, sizeof *enumeration->states);
    enumeration->state_count = 0;
    assert_true(enumeration->keys != NULL && enumeration->states != NULL);
    note_state(enumeration, 0);
    for (size_t i = 0; i < enumeration->state_count; i++) {
        struct reached reached = enumeration->states[i];
        go(enumeration, &reached);
        try_all_letters(enumeration, reached.length, reached.length + 1 >= length);
    }
    free(enumeration->keys);
    free(enumeration->states);
}

/* ---- the tests ---- */

static size_t scaled(size_t length) {
    const char *percent = getenv("LK_TEST_SCALE");
    unsigned long scale = percent != NULL ? strtoul(percent, NULL, 10) : 100;

    return length + (scale > 100) - (scale < 100) - (scale < 10);
}

static void enumerate(void **state) {
    static struct enumeration enumeration;
    const struct world *world = *state;

    enumeration = (struct enumeration){.world = world, .length = scaled(world->length)};
    enumeration.arena = arena_new();
    add_letters(&enumeration);
    start(&enumeration);
    explore(&enumeration, 0);
    print_message("%s: %llu histories of up to %zu of %zu events\n", world->name,
                  (unsigned long long)enumeration.histories, enumeration.length,
                  enumeration.letter_count);
    enumeration.histories = 0;
    explore_states(&enumeration, scaled(world->deep_length));
    print_message("%s: %zu states within %zu steps, %llu steps from them\n", world->name,
                  enumeration.state_count, scaled(world->deep_length) - 1,
                  (unsigned long long)enumeration.histories);
    drop_lockstep(&enumeration.lockstep);
    arena_free(enumeration.arena);
}

/* With an argument: only the world that begins with this word. */
int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        {worlds[0].name, enumerate, NULL, NULL, (void *)(uintptr_t)&worlds[0]},
        {worlds[1].name, enumerate, NULL, NULL, (void *)(uintptr_t)&worlds[1]},
        {worlds[2].name, enumerate, NULL, NULL, (void *)(uintptr_t)&worlds[2]},
        {worlds[3].name, enumerate, NULL, NULL, (void *)(uintptr_t)&worlds[3]},
    };

    char pattern[32];

    if (argc > 1) {
        snprintf(pattern, sizeof pattern, "%s*", argv[1]);
        cmocka_set_test_filter(pattern);
    }
    return cmocka_run_group_tests_name("enumeration", tests, NULL, NULL);
}
