/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the logs that actor.c writes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evidence.h"

enum { LINE_BYTES_MAX = 512, GROWTH = 4096 };

static bool outcome_of(const char *name, lk_outcome *ret_outcome) {
    for (int outcome = 0; outcome < LK_OUTCOME_COUNT; outcome++) {
        if (strcmp(lk_outcome_name((lk_outcome)outcome), name) == 0) {
            *ret_outcome = (lk_outcome)outcome;
            return true;
        }
    }
    return false;
}

/* PATH, PATH?shared or PATH?limit=N&units=U: all that an actor writes. */
static bool read_part(const char *text, struct evidence_part *ret_part) {
    struct evidence_part part = {0};
    size_t size = strcspn(text, "?");
    if (size == 0 || size >= sizeof part.path) {
        return false;
    }
    memcpy(part.path, text, size);
    if (text[size] == '?') {
        part.shared = true;
        part.units = 1;
        if (strcmp(text + size, "?shared") != 0
            && sscanf(text + size, "?limit=%" SCNu32 "&units=%" SCNu32, &part.limit, &part.units)
                   != 2) {
            return false;
        }
    }
    *ret_part = part;
    return true;
}

/* NUMBER MICROSECONDS OWNER VERB STYLE TTL_MS PART... */
static bool read_call(char *line, struct call *ret_call) {
    char verb[16];
    int64_t ttl_ms;
    int used = 0;
    struct call call = {.answered_us = EVIDENCE_NEVER, .ended_us = EVIDENCE_NEVER};
    if (sscanf(line, "call %lu %" SCNd64 " %31s %15s %*s %" SCNd64 "%n", &call.number,
               &call.called_us, call.owner, verb, &ttl_ms, &used)
        != 5) {
        return false;
    }
    call.ttl_us = ttl_ms * 1000;
    if (strcmp(verb, "ask") == 0) {
        call.verb = VERB_ASK;
    } else if (strcmp(verb, "renew") == 0) {
        call.verb = VERB_RENEW;
    } else if (strcmp(verb, "release") == 0) {
        call.verb = VERB_RELEASE;
    } else {
        return false;
    }
    char *rest = line + used;
    for (char *part = strtok_r(NULL, " \n", &rest); part != NULL;
         part = strtok_r(NULL, " \n", &rest)) {
        if (call.part_count == EVIDENCE_PARTS_MAX
            || !read_part(part, &call.parts[call.part_count])) {
            return false;
        }
        call.part_count++;
    }
    *ret_call = call;
    return call.part_count > 0;
}

/* NUMBER MICROSECONDS OUTCOME TICKET TOKEN CREATED, of the call before it. */
static bool read_answer(const char *line, struct call *call) {
    unsigned long number;
    int64_t answered_us;
    char name[24];
    int created;
    if (sscanf(line, "answer %lu %" SCNd64 " %23s %" SCNu64 " %" SCNu64 " %d", &number,
               &answered_us, name, &call->ticket, &call->token, &created)
            != 6
        || number != call->number || call->ended_us != EVIDENCE_NEVER
        || answered_us < call->called_us || !outcome_of(name, &call->outcome)) {
        return false;
    }
    call->created = created != 0;
    call->ended_us = answered_us;
    if (call->outcome != LK_UNAVAILABLE) {
        call->answered_us = answered_us;
    }
    return true;
}

static struct call *add_call(struct evidence *evidence) {
    if (evidence->call_count % GROWTH == 0) {
        struct call *calls =
            realloc(evidence->calls, (evidence->call_count + GROWTH) * sizeof *calls);
        if (calls == NULL) {
            fputs("checker: out of memory\n", stderr);
            exit(2);
        }
        evidence->calls = calls;
    }
    return &evidence->calls[evidence->call_count];
}

/* ["unnoticed"] ["of" ROOT...], what may come behind the instants. */
static bool read_restart_words(char *words, struct restart *restart) {
    bool names_roots = false;
    for (char *word = strtok_r(NULL, " \n", &words); word != NULL;
         word = strtok_r(NULL, " \n", &words)) {
        size_t size = strlen(restart->roots);
        if (names_roots && size + strlen(word) + 2 < sizeof restart->roots) {
            snprintf(restart->roots + size, sizeof restart->roots - size,
                     size == 0 ? " %s " : "%s ", word);
        } else if (!names_roots && strcmp(word, "of") == 0) {
            names_roots = true;
        } else if (!names_roots && strcmp(word, "unnoticed") == 0) {
            restart->unnoticed = true;
        } else {
            return false;
        }
    }
    return names_roots == (restart->roots[0] != '\0');
}

/* GONE BACK, and if it forgets KEPT TAKEN and words: of one after the last one was over. */
static bool read_restart(char *line, struct evidence *evidence) {
    size_t count = evidence->restart_count;
    struct restart *restarts = realloc(evidence->restarts, (count + 1) * sizeof *restarts);
    if (restarts == NULL) {
        fputs("checker: out of memory\n", stderr);
        exit(2);
    }
    evidence->restarts = restarts;
    evidence->restart_count++;
    struct restart *restart = &restarts[count];
    int used = 0;
    *restart = (struct restart){0};
    int instants =
        sscanf(line, "restart %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 "%n", &restart->gone_us,
               &restart->back_us, &restart->kept_us, &restart->taken_us, &used);
    if (instants == 2) {
        restart->kept_us = EVIDENCE_NEVER;
        restart->taken_us = restart->gone_us;
    } else if (instants != 4 || !read_restart_words(line + used, restart)) {
        return false;
    }
    int64_t first_us = restart_forgets(restart) ? restart->kept_us : restart->gone_us;
    return first_us <= restart->taken_us && restart->taken_us <= restart->gone_us
           && restart->gone_us <= restart->back_us
           && (count == 0 || first_us > restarts[count - 1].back_us);
}

bool evidence_read(struct evidence *evidence, const char *path) {
    char line[LINE_BYTES_MAX];
    size_t first = evidence->call_count;
    FILE *in = fopen(path, "r");
    bool good = in != NULL;
    while (good && fgets(line, sizeof line, in) != NULL) {
        if (line[0] == '#') {
            continue;
        }
        if (strncmp(line, "call ", 5) == 0) {
            good = read_call(line, add_call(evidence));
            evidence->call_count += good ? 1 : 0;
        } else if (strncmp(line, "restart ", 8) == 0) {
            good = read_restart(line, evidence);
        } else {
            good = evidence->call_count > first
                   && read_answer(line, &evidence->calls[evidence->call_count - 1]);
        }
    }
    if (!good) {
        fprintf(stderr, "checker: %s is no log: %s\n", path, in != NULL ? line : "cannot be read");
    }
    if (in != NULL) {
        fclose(in);
    }
    return good;
}
