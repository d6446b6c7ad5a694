/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges a concurrent history from outside: sees nothing but the actors' logs.
 *
 *     checker LOG...                      exit code 0: the rules were kept; 1: they were not
 *     checker --enough LOG...             exit code 0: there is enough to judge by; 1: there is not
 *     checker --cases LOGS                TAP: each log of the file is judged by itself, as its
 *                                         heading says: `== NAME`, or `== NAME: KIND`
 *
 * The kinds: two-holders (R6, R7a), limit (R7c), order (R7b: a smaller ticket overtaken), draw (R4:
 * a number that does not rise, or is used twice), lost-early (R11: a promise not kept), and those
 * of what was kept by locks: value, fence, work, progress, defect (kept.c). What cannot be known
 * for certain from outside is not checked; how much was checked is printed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evidence.h"

struct counts {
    size_t two_holders;
    size_t limit;
    size_t order;
    size_t draw;
    size_t pairs;    /* of holds at the same time, compared */
    size_t sums;     /* of units, compared with a limit */
    size_t arrivals; /* pairs of conflicting arrivals, compared */
    size_t draws;
    struct kept kept;
};

enum { PRINTED_MAX = 20 };

static bool may_print(size_t count) {
    return count <= PRINTED_MAX;
}

/* ---- two holders, and limits ----------------------------------------------------------------- */

static int compare_holds(const void *a, const void *b) {
    const struct hold *left = a;
    const struct hold *right = b;
    return (left->from_us > right->from_us) - (left->from_us < right->from_us);
}

static void compare_pair(struct counts *counts, const struct hold *earlier,
                         const struct hold *later) {
    if (strcmp(earlier->owner, later->owner) == 0) {
        return;
    }
    counts->pairs++;
    for (size_t i = 0; i < earlier->part_count; i++) {
        for (size_t j = 0; j < later->part_count; j++) {
            if (evidence_parts_conflict(&earlier->parts[i], &later->parts[j])
                && may_print(++counts->two_holders)) {
                printf("# violation two-holders: %s holds %s until %" PRId64
                       " at least, %s holds %s from %" PRId64 " on\n",
                       earlier->owner, earlier->parts[i].path, earlier->to_us, later->owner,
                       later->parts[j].path, later->from_us);
            }
        }
    }
}

static const struct evidence_part *find_part(const struct evidence_part *parts, size_t count,
                                             const char *path) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(parts[i].path, path) == 0) {
            return &parts[i];
        }
    }
    return NULL;
}

/* Units that were held at the path since the token was drawn: they only shrink under one token. */
static uint64_t lasting_units(const struct hold *hold, const char *path) {
    const struct evidence_part *now = find_part(hold->parts, hold->part_count, path);
    const struct evidence_part *then = find_part(hold->drawn_for, hold->part_count, path);
    if (now == NULL || then == NULL) {
        return 0;
    }
    return now->units < then->units ? now->units : then->units;
}

/* A token that was drawn later was checked against the holds there with a smaller one. */
static void compare_limit(struct counts *counts, const struct hold *const *active, size_t count,
                          const struct hold *checked) {
    for (size_t i = 0; i < checked->part_count; i++) {
        const struct evidence_part *part = &checked->drawn_for[i];
        uint64_t sum = 0;
        if (part->limit == 0) {
            continue;
        }
        for (size_t j = 0; j < count; j++) {
            sum += active[j]->token <= checked->token ? lasting_units(active[j], part->path) : 0;
        }
        counts->sums++;
        if (sum > part->limit && may_print(++counts->limit)) {
            printf("# violation limit: %s holds %s with limit %" PRIu32 " and token %" PRIu64
                   ", where %" PRIu64 " units are held\n",
                   checked->owner, part->path, part->limit, checked->token, sum);
        }
    }
}

static void compare_holders(const struct evidence *evidence, struct counts *counts) {
    const struct hold **active = calloc(evidence->hold_count + 1, sizeof(const struct hold *));
    size_t count = 0;
    if (active == NULL) {
        exit(2);
    }
    qsort(evidence->holds, evidence->hold_count, sizeof *evidence->holds, compare_holds);
    for (size_t i = 0; i < evidence->hold_count; i++) {
        const struct hold *hold = &evidence->holds[i];
        size_t kept = 0;
        for (size_t j = 0; j < count; j++) {
            if (active[j]->to_us > hold->from_us) {
                compare_pair(counts, active[j], hold);
                active[kept++] = active[j];
            }
        }
        active[kept++] = hold;
        count = kept;
        for (size_t j = 0; j < count; j++) {
            compare_limit(counts, active, count, active[j]);
        }
    }
    free(active);
}

/* ---- order of grants ------------------------------------------------------------------------- */

/* Whether the owner may have held something else meanwhile, which may have covered it (R8). */
static bool may_be_covered(const struct evidence *evidence, const struct arrival *arrival) {
    for (size_t i = 0; i < evidence->presence_count; i++) {
        const struct presence *presence = &evidence->presences[i];
        if (strcmp(presence->owner, arrival->owner) == 0 && presence->ticket != arrival->ticket
            && presence->from_us < arrival->granted_us && presence->to_us > arrival->called_us) {
            return true;
        }
    }
    return false;
}

static bool arrivals_conflict(const struct arrival *a, const struct arrival *b) {
    for (size_t i = 0; i < a->part_count; i++) {
        for (size_t j = 0; j < b->part_count; j++) {
            if (evidence_parts_conflict(&a->parts[i], &b->parts[j])) {
                return true;
            }
        }
    }
    return false;
}

/*
 * Whether the grant to `later` may be undone, and the one to `earlier` come from the state that the
 * store went on from: there it was queued again, though it may have left the queue before that
 * grant.
 */
static bool may_be_apart(const struct evidence *evidence, const struct arrival *earlier,
                         const struct arrival *later) {
    for (size_t i = 0; i < evidence->restart_count; i++) {
        const struct restart *restart = &evidence->restarts[i];
        if (restart_forgets(restart) && later->granted_us >= restart->kept_us
            && later->grant_called_us <= restart->back_us
            && earlier->granted_us > restart->gone_us) {
            return true;
        }
    }
    return false;
}

/*
 * Both were granted, and a ticket is kept as long as the request lives: so the one with the smaller
 * ticket was queued from its arrival to its grant, and requests that conflict came behind it.
 */
static void compare_order(const struct evidence *evidence, struct counts *counts) {
    for (size_t i = 0; i < evidence->arrival_count; i++) {
        const struct arrival *later = &evidence->arrivals[i];
        if (later->token == 0 || !later->same_parts || may_be_covered(evidence, later)) {
            continue;
        }
        for (size_t j = 0; j < evidence->arrival_count; j++) {
            const struct arrival *earlier = &evidence->arrivals[j];
            if (earlier->token == 0 || !earlier->same_parts || earlier->ticket >= later->ticket
                || strcmp(earlier->owner, later->owner) == 0 || !arrivals_conflict(earlier, later)
                || may_be_apart(evidence, earlier, later)) {
                continue;
            }
            counts->arrivals++;
            if (later->token < earlier->token && may_print(++counts->order)) {
                printf("# violation order: %s at %s (ticket %" PRIu64 ", token %" PRIu64
                       ") overtook %s (ticket %" PRIu64 ", token %" PRIu64 ")\n",
                       later->owner, later->parts[0].path, later->ticket, later->token,
                       earlier->owner, earlier->ticket, earlier->token);
            }
        }
    }
}

/* ---- draws ----------------------------------------------------------------------------------- */

static int compare_known(const void *a, const void *b) {
    const struct drawn *left = *(const struct drawn *const *)a;
    const struct drawn *right = *(const struct drawn *const *)b;
    return (left->known_us > right->known_us) - (left->known_us < right->known_us);
}

static int compare_not_before(const void *a, const void *b) {
    const struct drawn *left = *(const struct drawn *const *)a;
    const struct drawn *right = *(const struct drawn *const *)b;
    return (left->not_before_us > right->not_before_us)
           - (left->not_before_us < right->not_before_us);
}

static int compare_values(const void *a, const void *b) {
    const struct drawn *left = *(const struct drawn *const *)a;
    const struct drawn *right = *(const struct drawn *const *)b;
    return (left->value > right->value) - (left->value < right->value);
}

static void report_draw(struct counts *counts, const struct drawn *drawn, const struct drawn *other,
                        const char *what) {
    if (may_print(++counts->draw)) {
        printf("# violation draw: %s received %" PRIu64 " at root %s, %s %s received %" PRIu64 "\n",
               drawn->seen->owner, drawn->value, drawn->root, what, other->seen->owner,
               other->value);
    }
}

/* What was drawn after another was known must be greater; no two are the same. */
static void compare_draws_at(struct counts *counts, const struct drawn **draws, size_t count) {
    const struct drawn **known = calloc(count + 1, sizeof(const struct drawn *));
    const struct drawn *greatest = NULL;
    size_t next = 0;
    if (known == NULL) {
        exit(2);
    }
    memcpy(known, draws, count * sizeof(const struct drawn *));
    qsort(known, count, sizeof(const struct drawn *), compare_known);
    qsort(draws, count, sizeof(const struct drawn *), compare_not_before);
    for (size_t i = 0; i < count; i++) {
        while (next < count && known[next]->known_us < draws[i]->not_before_us) {
            if (greatest == NULL || known[next]->value > greatest->value) {
                greatest = known[next];
            }
            next++;
        }
        counts->draws++;
        if (greatest != NULL && draws[i]->value <= greatest->value) {
            report_draw(counts, draws[i], greatest, "after");
        }
    }
    qsort(draws, count, sizeof(const struct drawn *), compare_values);
    for (size_t i = 1; i < count; i++) {
        if (draws[i]->value == draws[i - 1]->value) {
            report_draw(counts, draws[i], draws[i - 1], "and");
        }
    }
    free(known);
}

static void compare_draws(const struct evidence *evidence, struct counts *counts) {
    const struct drawn **at = calloc(evidence->draw_count + 1, sizeof(const struct drawn *));
    if (at == NULL) {
        exit(2);
    }
    for (size_t i = 0; i < evidence->draw_count; i++) {
        size_t count = 0;
        bool is_first = true;
        for (size_t j = 0; j < evidence->draw_count; j++) {
            if (strcmp(evidence->draws[i].root, evidence->draws[j].root) == 0) {
                is_first = is_first && j >= i;
                at[count++] = &evidence->draws[j];
            }
            if (!is_first) {
                break; /* this root has been looked at */
            }
        }
        if (is_first) {
            compare_draws_at(counts, at, count);
        }
    }
    free(at);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static size_t found_of(const struct counts *counts, const struct evidence *evidence,
                       const char *kind) {
    const struct {
        const char *kind;
        size_t count;
    } found[] = {{"two-holders", counts->two_holders},
                 {"limit", counts->limit},
                 {"order", counts->order},
                 {"draw", counts->draw},
                 {"lost-early", evidence->lost_early},
                 {"value", counts->kept.value},
                 {"fence", counts->kept.fence},
                 {"work", counts->kept.work},
                 {"progress", counts->kept.progress},
                 {"defect", counts->kept.defect}};
    size_t sum = 0;
    for (size_t i = 0; i < sizeof found / sizeof found[0]; i++) {
        sum += kind == NULL || strcmp(kind, found[i].kind) == 0 ? found[i].count : 0;
    }
    return sum;
}

static size_t count_outcomes(const struct evidence *evidence, lk_outcome outcome) {
    size_t count = 0;
    for (size_t i = 0; i < evidence->call_count; i++) {
        const struct call *call = &evidence->calls[i];
        count += call->ended_us != EVIDENCE_NEVER && call->outcome == outcome ? 1 : 0;
    }
    return count;
}

static void print_counts(const struct evidence *evidence, const struct counts *counts) {
    printf("# %zu calls: %zu granted, %zu waiting, %zu busy, %zu timeout, %zu lost, %zu deadlock\n",
           evidence->call_count, count_outcomes(evidence, LK_GRANTED),
           count_outcomes(evidence, LK_WAITING), count_outcomes(evidence, LK_BUSY),
           count_outcomes(evidence, LK_TIMEOUT), count_outcomes(evidence, LK_LOST),
           count_outcomes(evidence, LK_DEADLOCK));
    printf("# checked: %zu pairs of holds, %zu sums of units, %zu queued pairs, %zu draws\n",
           counts->pairs, counts->sums, counts->arrivals, counts->draws);
    if (evidence->restart_count > 0) {
        printf("# %zu restarts: %zu leases outlived one, %zu longer than they had promised\n",
               evidence->restart_count, evidence->stood_count, evidence->graced_count);
    }
    if (evidence->fault_count > 0) {
        printf("# %zu faults; %zu calls UNAVAILABLE\n", evidence->fault_count,
               count_outcomes(evidence, LK_UNAVAILABLE));
    }
    if (counts->kept.values > 0) {
        printf(
            "# checked: %zu values, %zu uses of a resource (%zu refused), %zu items, %zu claims\n",
            counts->kept.values, counts->kept.touches, counts->kept.refused, counts->kept.items,
            counts->kept.claims);
    }
    printf("# %zu violations\n", found_of(counts, evidence, NULL));
}

/* A history in which nothing could be checked proves nothing. */
static bool says_something(const struct evidence *evidence, const struct counts *counts) {
    const struct kept *kept = &counts->kept;
    bool is_kept = kept->values > 0 && kept->touches > 0 && kept->claims > 0;
    return counts->pairs > 0 && counts->arrivals > 0 && counts->draws > 0
           && (evidence->fault_count == 0 || is_kept);
}

static struct counts compare_all(struct evidence *evidence) {
    struct counts counts = {0};
    evidence_derive(evidence);
    compare_holders(evidence, &counts);
    compare_order(evidence, &counts);
    compare_draws(evidence, &counts);
    kept_check(evidence, &counts.kept);
    return counts;
}

/* Whether exactly violations of this kind are found; NULL: none is, and enough was compared. */
static bool judge(struct evidence *evidence, const char *must_find) {
    struct counts counts = compare_all(evidence);
    print_counts(evidence, &counts);
    size_t found = found_of(&counts, evidence, NULL);
    if (must_find != NULL) {
        return found > 0 && found == found_of(&counts, evidence, must_find);
    }
    if (!says_something(evidence, &counts)) {
        printf("# too little happened: nothing was tested\n");
        return false;
    }
    return found == 0;
}

/* Violations are enough, too. */
static bool is_enough(struct evidence *evidence) {
    struct counts counts = compare_all(evidence);
    return says_something(evidence, &counts) || found_of(&counts, evidence, NULL) > 0;
}

static int judge_logs(char *const *paths, bool only_whether_enough) {
    struct evidence evidence = {0};
    for (; *paths != NULL; paths++) {
        if (!evidence_read(&evidence, *paths)) {
            evidence_free(&evidence);
            return 2;
        }
    }
    bool good = only_whether_enough ? is_enough(&evidence) : judge(&evidence, NULL);
    evidence_free(&evidence);
    return good ? 0 : 1;
}

static int judge_cases(const char *path) {
    FILE *in = fopen(path, "r");
    struct evidence evidence = {0};
    struct evidence_case heading;
    size_t count = 0;
    size_t failed = 0;
    while (in != NULL && evidence_read_case(&evidence, in, &heading)) {
        bool good = judge(&evidence, heading.kind[0] != '\0' ? heading.kind : NULL);
        printf("%s %zu - %s\n", good ? "ok" : "not ok", ++count, heading.name);
        failed += good ? 0 : 1;
        evidence_free(&evidence);
        evidence = (struct evidence){0};
    }
    bool is_whole = in != NULL && feof(in) && count > 0;
    if (in != NULL) {
        fclose(in);
    }
    evidence_free(&evidence);
    if (!is_whole) {
        fprintf(stderr, "checker: %s is no file of logs, from log %zu on\n", path, count + 1);
        return 2;
    }
    printf("1..%zu\n", count);
    return failed == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--cases") == 0) {
        return judge_cases(argv[2]);
    }
    if (argc > 2 && strcmp(argv[1], "--enough") == 0) {
        return judge_logs(argv + 2, true);
    }
    if (argc < 2 || argv[1][0] == '-') {
        fputs("usage: checker [--enough] LOG... | --cases LOGS\n", stderr);
        return 2;
    }
    return judge_logs(argv + 1, false);
}
