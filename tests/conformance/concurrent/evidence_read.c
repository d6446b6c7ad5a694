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

static const char *const verbs[] = {
    [VERB_ASK] = "ask",     [VERB_RENEW] = "renew", [VERB_RELEASE] = "release",
    [VERB_PUSH] = "push",   [VERB_CLAIM] = "claim", [VERB_DONE] = "done",
    [VERB_RETRY] = "retry",
};

static bool verb_of(const char *name, enum evidence_verb *ret_verb) {
    for (size_t verb = 0; verb < sizeof verbs / sizeof verbs[0]; verb++) {
        if (strcmp(verbs[verb], name) == 0) {
            *ret_verb = (enum evidence_verb)verb;
            return true;
        }
    }
    return false;
}

/* NUMBER MICROSECONDS OWNER VERB STYLE TTL_MS PART...: a style of digits is a token */
static bool read_call(char *line, struct call *ret_call) {
    char verb[16];
    char style[24];
    int64_t ttl_ms;
    int used = 0;
    struct call call = {.answered_us = EVIDENCE_NEVER, .ended_us = EVIDENCE_NEVER};
    if (sscanf(line, "call %lu %" SCNd64 " %31s %15s %23s %" SCNd64 "%n", &call.number,
               &call.called_us, call.owner, verb, style, &ttl_ms, &used)
            != 6
        || !verb_of(verb, &call.verb)) {
        return false;
    }
    call.ttl_us = ttl_ms * 1000;
    call.named = strtoull(style, NULL, 10);
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

/* NUMBER MICROSECONDS OUTCOME TICKET TOKEN CREATED [GIVEN], of the call before it. */
static bool read_answer(const char *line, struct call *call) {
    unsigned long number;
    int64_t answered_us;
    char name[24];
    int created;
    if (sscanf(line, "answer %lu %" SCNd64 " %23s %" SCNu64 " %" SCNu64 " %d %47s", &number,
               &answered_us, name, &call->ticket, &call->token, &created, call->given)
            < 6
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

void *evidence_grow(void *array, size_t count, size_t size) {
    void *grown = array;
    if (count % GROWTH == 0) {
        grown = realloc(array, (count + GROWTH) * size);
    }
    if (grown == NULL) {
        fputs("checker: out of memory\n", stderr);
        exit(2);
    }
    return grown;
}

/* ["down" DOWN] ["unnoticed"] ["of" ROOT...], what may come behind the instants. */
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
        } else if (!names_roots && strcmp(word, "down") == 0) {
            word = strtok_r(NULL, " \n", &words);
            restart->down_us = word == NULL ? 0 : strtoll(word, NULL, 10);
        } else {
            return false;
        }
    }
    return names_roots == (restart->roots[0] != '\0');
}

/* GONE BACK, and if it forgets KEPT TAKEN and words: of one after the last one was over. */
static bool read_restart(char *line, struct evidence *evidence) {
    size_t count = evidence->restart_count;
    struct restart *restarts = evidence_grow(evidence->restarts, count, sizeof *restarts);
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
        (void)sscanf(line, "restart %*d %*d%n", &used);
    }
    restart->down_us = restart->gone_us;
    if ((instants != 2 && instants != 4) || !read_restart_words(line + used, restart)) {
        return false;
    }
    int64_t first_us = restart_forgets(restart) ? restart->kept_us : restart->gone_us;
    return first_us <= restart->taken_us && restart->taken_us <= restart->gone_us
           && restart->gone_us <= restart->down_us && restart->down_us <= restart->back_us
           && (count == 0 || first_us > restarts[count - 1].back_us);
}

/* BEGUN ENDED OWNER PATH TOKEN BEFORE */
static bool read_touch(const char *line, struct evidence *evidence) {
    evidence->touches =
        evidence_grow(evidence->touches, evidence->touch_count, sizeof *evidence->touches);
    struct touch *touch = &evidence->touches[evidence->touch_count++];
    return sscanf(line, "touch %" SCNd64 " %" SCNd64 " %31s %31s %" SCNu64 " %" SCNu64,
                  &touch->begun_us, &touch->ended_us, touch->owner, touch->path, &touch->token,
                  &touch->before)
           == 6;
}

/* BEGUN ENDED KIND */
static bool read_fault(const char *line, struct evidence *evidence) {
    evidence->faults =
        evidence_grow(evidence->faults, evidence->fault_count, sizeof *evidence->faults);
    struct fault *fault = &evidence->faults[evidence->fault_count++];
    return sscanf(line, "fault %" SCNd64 " %" SCNd64 " %47s", &fault->begun_us, &fault->ended_us,
                  fault->kind)
           == 3;
}

static bool read_line(struct evidence *evidence, char *line, size_t first) {
    if (line[0] == '#') {
        return true;
    }
    if (strncmp(line, "call ", 5) == 0) {
        evidence->calls =
            evidence_grow(evidence->calls, evidence->call_count, sizeof *evidence->calls);
        bool good = read_call(line, &evidence->calls[evidence->call_count]);
        evidence->call_count += good ? 1 : 0;
        return good;
    }
    if (strncmp(line, "restart ", 8) == 0) {
        return read_restart(line, evidence);
    }
    if (strncmp(line, "touch ", 6) == 0) {
        return read_touch(line, evidence);
    }
    if (strncmp(line, "fault ", 6) == 0) {
        return read_fault(line, evidence);
    }
    if (strncmp(line, "clock ", 6) == 0) {
        return sscanf(line, "clock %" SCNd64, &evidence->clock_moved_us) == 1;
    }
    if (strncmp(line, "drained ", 8) == 0) {
        return sscanf(line, "drained %" SCNd64, &evidence->drained_us) == 1;
    }
    return evidence->call_count > first
           && read_answer(line, &evidence->calls[evidence->call_count - 1]);
}

bool evidence_read(struct evidence *evidence, const char *path) {
    char line[LINE_BYTES_MAX];
    size_t first = evidence->call_count;
    FILE *in = fopen(path, "r");
    bool good = in != NULL;
    while (good && fgets(line, sizeof line, in) != NULL) {
        good = read_line(evidence, line, first);
    }
    if (!good) {
        fprintf(stderr, "checker: %s is no log: %s\n", path, in != NULL ? line : "cannot be read");
    }
    if (in != NULL) {
        fclose(in);
    }
    return good;
}

static bool is_heading(const char *line) {
    return strncmp(line, "== ", 3) == 0;
}

bool evidence_read_case(struct evidence *evidence, FILE *in, struct evidence_case *ret_case) {
    char line[LINE_BYTES_MAX];
    struct evidence_case heading = {.kind = ""};
    if (fgets(line, sizeof line, in) == NULL) {
        return false;
    }
    bool good =
        is_heading(line) && sscanf(line, "== %47[^:\n]: %47s", heading.name, heading.kind) > 0;
    long next = ftell(in);
    while (good && fgets(line, sizeof line, in) != NULL && !is_heading(line)) {
        good = line[0] == '\n' || read_line(evidence, line, 0);
        next = ftell(in);
    }
    if (!good) {
        fprintf(stderr, "checker: this is no log: %s", line);
        return false;
    }
    *ret_case = heading;
    return fseek(in, next, SEEK_SET) == 0;
}
