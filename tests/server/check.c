/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Safety checks. They use the answers that clients received and the contents of the disk, not the
 * state of the core.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "sim.h"

/* ---- answers --------------------------------------------------------------------------- */

static bool is_about(const struct sim_lease *lease, const char *owner, char parts[][SIM_NAME_MAX],
                     size_t part_count) {
    if (strcmp(lease->owner, owner) != 0 || lease->part_count != part_count) {
        return false;
    }
    for (size_t i = 0; i < part_count; i++) {
        if (strcmp(lease->parts[i], parts[i]) != 0) {
            return false;
        }
    }
    return true;
}

static void end_lease(struct sim *sim, struct sim_lease *lease) {
    if (lease->ended_us > sim->times.now_us) {
        lease->ended_us = sim->times.now_us;
    }
}

/* What a break ends at once: what waits there, and with `now` what is held. */
static void heed_break(struct sim_lease *lease, const struct sim_break *broken) {
    bool ends = lease->is_claim; /* what its work needs may be broken, and so the claim */

    for (size_t i = 0; i < lease->part_count && !ends; i++) {
        size_t size = strcspn(lease->parts[i], "?");
        ends =
            (broken->at_once || lease->token == 0)
            && lk_slice_equal((struct lk_slice){lease->parts[i], size}, lk_slice_of(broken->path));
    }
    if (ends && broken->at_us >= lease->decided_us && broken->at_us < lease->ended_us) {
        lease->ended_us = broken->at_us;
    }
}

static void check_break(struct sim *sim, const struct lk_break *broken) {
    struct sim_break *kept = &sim->breaks[sim->break_count++];

    assert(sim->break_count <= SIM_BREAKS_MAX);
    *kept = (struct sim_break){.at_us = sim->times.now_us, .at_once = broken->at_once};
    sim_write(kept->path, "%.*s", (int)broken->path.size, broken->path.bytes);
    for (size_t i = 0; i < sim->lease_count; i++) {
        heed_break(&sim->leases[i], kept);
    }
}

static void add_lease(struct sim *sim, const struct sim_client *client,
                      const struct sim_answer *answer, char parts[][SIM_NAME_MAX],
                      size_t part_count) {
    struct sim_lease *lease = NULL;

    for (size_t i = 0; i < sim->lease_count; i++) {
        struct sim_lease *other = &sim->leases[i];
        if (!is_about(other, client->owner, parts, part_count)
            || other->is_claim != (answer->decides == LK_COMMAND_TAKE)) {
            continue;
        }
        if (other->token == answer->token && other->ticket == answer->ticket) {
            lease = other;
        } else if (other->ended_us > answer->decided_us) {
            other->ended_us = answer->decided_us; /* another has taken its place */
        }
    }
    if (lease == NULL) {
        if (sim->lease_count == SIM_LEASES_MAX) {
            sim_fail(sim, "more was answered than a world has room for");
            return;
        }
        lease = &sim->leases[sim->lease_count++];
        *lease = (struct sim_lease){.number = answer->is_drawn ? answer->number : 0,
                                    .decided_us = answer->decided_us};
        memcpy(lease->owner, client->owner, sizeof lease->owner);
        memcpy(lease->parts, parts, part_count * sizeof lease->parts[0]);
        lease->part_count = part_count;
        lease->ticket = answer->ticket;
        lease->token = answer->token;
        lease->is_claim = answer->decides == LK_COMMAND_TAKE;
        lease->ttl_us = answer->until_us - answer->decided_us;
        lease->client = client->connection.client;
        lease->is_covered = answer->is_covered;
        sim->grants += answer->token != 0;
    }
    lease->until_us = answer->until_us;
    lease->ended_us = LK_NEVER;
    lease->bound = lease->bound || client->is_bound;
    for (size_t i = 0; i < sim->break_count; i++) {
        if (sim->breaks[i].at_us >= answer->decided_us) {
            heed_break(lease, &sim->breaks[i]);
        }
    }
}

static void renew_lease(struct sim *sim, const struct sim_client *client,
                        const struct sim_answer *answer) {
    for (size_t i = 0; i < sim->lease_count; i++) {
        struct sim_lease *lease = &sim->leases[i];
        if (is_about(lease, client->owner, (char(*)[SIM_NAME_MAX])client->parts_text,
                     client->call.command.renew.target.part_count)
            && lease->token == answer->token && lease->token != 0) {
            lease->until_us = answer->until_us;
        }
    }
}

void check_answer(struct sim *sim, struct sim_client *client, const struct sim_answer *answer) {
    char item[1][SIM_NAME_MAX];

    sim_say(sim, "%s is answered: call %d %s, ticket %" PRIu64 " token %" PRIu64 " until %" PRId64,
            client->name, (int)answer->decides, lk_outcome_name(answer->outcome), answer->ticket,
            answer->token, answer->until_us);
    if (sim->flaw != SIM_ANSWERS_EARLY && answer->batch > sim->applied) {
        sim_fail(sim, "an answer left before batch %" PRIu64 " was on disk", answer->batch);
    }
    if (answer->decides == LK_COMMAND_ASK
        && (answer->outcome == LK_GRANTED || answer->outcome == LK_WAITING)) {
        add_lease(sim, client, answer, client->parts_text, client->call.command.ask.part_count);
    } else if (answer->decides == LK_COMMAND_TAKE && answer->outcome == LK_GRANTED) {
        sim_write(item[0], "w/%s", answer->id);
        add_lease(sim, client, answer, item, 1);
    } else if (answer->decides == LK_COMMAND_RENEW && answer->outcome == LK_OK) {
        renew_lease(sim, client, answer);
    } else if (answer->is_of_events && answer->outcome == LK_OK) {
        check_events(sim, client, answer);
    }
}

/* The call arrives: it may set another deadline without an answer that says so. */
static void check_moving(struct sim *sim, const struct sim_client *client) {
    const struct lk_command *command = &client->call.command;
    bool is_ask = lk_call_is(&client->call, LK_COMMAND_ASK);
    bool is_renewal = lk_call_is(&client->call, LK_COMMAND_RENEW);
    int64_t ttl_ms = is_ask && command->ask.ttl_ms != 0 ? command->ask.ttl_ms : LK_TTL_DEFAULT_MS;
    size_t part_count = is_ask ? command->ask.part_count : command->renew.target.part_count;

    for (size_t i = 0; i < sim->lease_count; i++) {
        struct sim_lease *lease = &sim->leases[i];
        if ((!is_ask && !is_renewal)
            || !is_about(lease, client->owner, (char(*)[SIM_NAME_MAX])client->parts_text,
                         part_count)) {
            continue;
        }
        if (is_ask && ttl_ms * 1000 < lease->ttl_us) {
            lease->ttl_us = ttl_ms * 1000;
        }
        if (lease->until_us > sim->times.now_us + lease->ttl_us) {
            lease->until_us = sim->times.now_us + lease->ttl_us;
        }
    }
}

/* The call arrives: what it may end has ended, whether or not it is answered. */
void check_ending(struct sim *sim, const struct sim_client *client) {
    const struct lk_call *call = &client->call;
    char item[1][SIM_NAME_MAX];

    check_moving(sim, client);
    if (lk_call_is(call, LK_COMMAND_BREAK)) {
        check_break(sim, &call->command.broken);
    }
    sim_write(item[0], "w/%s", client->id);
    for (size_t i = 0; i < sim->lease_count; i++) {
        struct sim_lease *lease = &sim->leases[i];
        bool ends = false;

        if (lk_call_is(call, LK_COMMAND_RELEASE)) {
            ends = !lease->is_claim
                   && is_about(lease, client->owner, (char(*)[SIM_NAME_MAX])client->parts_text,
                               call->command.release.target.part_count);
        } else if (lk_call_is(call, LK_COMMAND_ASK)) { /* it may be a deadlock, or time out */
            ends = lease->token == 0
                   && is_about(lease, client->owner, (char(*)[SIM_NAME_MAX])client->parts_text,
                               call->command.ask.part_count);
        } else if (lk_call_is(call, LK_COMMAND_FINISH)
                   && call->command.finish.kind != LK_FINISH_PROGRESS) {
            ends = lease->is_claim && is_about(lease, client->owner, item, 1);
        }
        if (ends) {
            end_lease(sim, lease);
        }
    }
}

void check_leaving(struct sim *sim, int client) {
    for (size_t i = 0; i < sim->lease_count; i++) {
        if (sim->leases[i].client == client && sim->leases[i].bound) {
            end_lease(sim, &sim->leases[i]);
            sim->leases[i].is_left = true;
        }
    }
}

/* ---- what is on the disk --------------------------------------------------------------------- */

enum { LINES_MAX = 4096, LINE_MAX = 400 };

struct dump {
    const struct lk_model *model;
    char (*lines)[LINE_MAX];
    size_t count;
};

static struct lk_text next_line(struct dump *dump) {
    assert(dump->count < LINES_MAX);
    return lk_text_in(dump->lines[dump->count++], LINE_MAX);
}

/* What R11 may move is behind the @. */
static bool dump_request(void *context, lk_ref request) {
    struct dump *dump = context;
    static struct lk_record record;
    struct lk_text line = next_line(dump);

    lk_model_record(dump->model, request, &record);
    lk_text_format(&line,
                   "r%08" PRIu64 " %.*s s%d v%d a%d f%d t%" PRIu64 "/%" PRIu64 " w%d c%d n%" PRIu64
                   " m%u",
                   record.id, (int)record.owner.size, record.owner.bytes, (int)record.state,
                   record.revoked, record.attended, record.fixed, record.ticket, record.token,
                   record.wants_value, record.is_claim, record.ask_number, record.max_attempts);
    for (size_t i = 0; i < record.part_count; i++) {
        const struct lk_part *part = &record.parts[i];
        lk_text_format(&line, " %.*s/%d/%u/%u", (int)part->path.size, part->path.bytes,
                       (int)part->mode, part->limit, part->units);
    }
    lk_text_format(&line, "@%" PRId64 " %" PRId64, record.deadline_us, record.ttl_ms);
    return true;
}

static bool dump_item(void *context, lk_item_ref item) {
    struct dump *dump = context;
    static struct lk_item_record record;
    struct lk_text line = next_line(dump);

    lk_model_item_record(dump->model, item, &record);
    /* What is delayed and due is as good as ready. */
    lk_text_format(&line, "i%.*s s%d q%" PRIu64 " a%u l%d h%d n%zu %.*s@%" PRId64 " 0",
                   (int)record.id.size, record.id.bytes,
                   record.state == LK_ITEM_DELAYED ? LK_ITEM_READY : (int)record.state,
                   record.sequence, record.attempts, record.was_lost, record.is_head,
                   record.need_count, (int)record.value.size, record.value.bytes,
                   record.state == LK_ITEM_DELAYED ? record.due_us : 0);
    return true;
}

static void dump_value(struct dump *dump, const char *path) {
    struct lk_path parsed;
    struct lk_value_record record;
    lk_value_ref value;

    (void)lk_path_parse(lk_slice_of(path), &parsed, NULL);
    value = lk_model_value(dump->model, &parsed);
    if (value != 0) {
        struct lk_text line = next_line(dump);
        lk_model_value_record(dump->model, value, &record);
        lk_text_format(&line, "v%s d%d %.*s", path, record.in_doubt, (int)record.bytes.size,
                       record.bytes.bytes);
    }
}

static int compare_lines(const void *a, const void *b) {
    return strcmp(a, b);
}

char *check_dump(const struct lk_model *model) {
    struct dump dump = {.model = model, .lines = malloc((size_t)LINES_MAX * LINE_MAX)};
    struct lk_queue_counts counts;
    struct lk_path queue;
    char *text;
    size_t used = 0;

    (void)lk_path_parse(lk_slice_of("w"), &queue, NULL);
    lk_model_each(model, dump_request, &dump);
    lk_model_each_item(model, &queue, dump_item, &dump);
    dump_value(&dump, "a");
    dump_value(&dump, "a/b");
    dump_value(&dump, "d");
    lk_model_queue_counts(model, &queue, &counts);
    {
        struct lk_text line = next_line(&dump);
        lk_text_format(&line, "q %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
                       counts.pushed, counts.duplicates, counts.claims, counts.steals,
                       counts.done + counts.retried * 1000000 + counts.parked * 1000000000);
    }
    qsort(dump.lines, dump.count, LINE_MAX, compare_lines);
    text = malloc(dump.count * (LINE_MAX + 1) + 1);
    for (size_t i = 0; i < dump.count; i++) {
        size_t size = strlen(dump.lines[i]);
        memcpy(text + used, dump.lines[i], size);
        used += size;
        text[used++] = '\n';
    }
    text[used] = '\0';
    free(dump.lines);
    return text;
}

/*
 * As it was; or, in a store with a clock of its own, a little later, and the next load takes that
 * back. What was promised is checked by is_there().
 */
static bool is_near(const struct sim *sim, int64_t is_us, int64_t was_us) {
    return is_us - was_us <= sim->slack_us && was_us - is_us <= sim->slack_us;
}

/* R11: as it was promised, or the smaller of its ttl and 60 s from now, if that is later. */
static bool is_fair(const struct sim *sim, bool is_item, const char *before, const char *after) {
    int64_t was_us = strtoll(before + 1, NULL, 10);
    int64_t is_us = strtoll(after + 1, NULL, 10);
    int64_t ttl_ms = strtoll(strchr(after, ' '), NULL, 10);
    int64_t grace_us = ttl_ms < 60000 ? ttl_ms * 1000 : 60000000;

    if (is_item) {
        return is_near(sim, is_us, was_us)
               || (is_us <= sim->times.now_us && was_us <= sim->times.now_us);
    }
    return is_near(sim, is_us, was_us)
           || (is_us > was_us && is_near(sim, is_us, sim->times.now_us + grace_us));
}

static void compare_with_written(struct sim *sim, const char *loaded) {
    const char *was = sim->written;
    const char *is = loaded;

    while (*was != '\0' || *is != '\0') {
        size_t was_size = strcspn(was, "@\n");
        size_t is_size = strcspn(is, "@\n");

        if (was_size != is_size || memcmp(was, is, was_size) != 0
            || (was[was_size] == '@') != (is[is_size] == '@')
            || (was[was_size] == '@' && !is_fair(sim, *was == 'i', was + was_size, is + is_size))) {
            sim_fail(sim, "written: %.*s\n# loaded:  %.*s", (int)strcspn(was, "\n"), was,
                     (int)strcspn(is, "\n"), is);
            return;
        }
        was += strcspn(was, "\n") + 1;
        is += strcspn(is, "\n") + 1;
    }
}

/* The very request, in *ret_record. false: it is not there, or another one. */
static bool find_lease(const struct lk_model *model, const struct sim_lease *lease,
                       struct lk_record *ret_record) {
    struct lk_part parts[SIM_PARTS_MAX];
    lk_ref request;

    for (size_t i = 0; i < lease->part_count; i++) {
        (void)lk_part_parse(lk_slice_of(lease->parts[i]), NULL, &parts[i], NULL);
    }
    request = lk_model_find(model, lk_slice_of(lease->owner), parts, lease->part_count);
    if (request == 0) {
        return false;
    }
    lk_model_record(model, request, ret_record);
    return ret_record->ticket == lease->ticket
           && (lease->token == 0 || ret_record->token == lease->token);
}

static bool is_there(const struct lk_model *model, const struct sim_lease *lease) {
    static struct lk_record record;

    return find_lease(model, lease, &record) && record.deadline_us >= lease->until_us;
}

void check_gone(struct sim *sim, const struct lk_model *model) {
    static struct lk_record record;

    for (size_t i = 0; model != NULL && i < sim->lease_count; i++) {
        const struct sim_lease *lease = &sim->leases[i];
        if (lease->is_left && !lease->is_claim && find_lease(model, lease, &record)) {
            sim_fail(sim, "R18: %s has %s, and its connection is gone", lease->owner,
                     lease->parts[0]);
        }
    }
}

void check_snapshot(struct sim *sim, const struct lk_core_snapshot *snapshot) {
    char *loaded = check_dump(snapshot->model);

    if (sim->written != NULL) {
        compare_with_written(sim, loaded);
    }
    free(sim->written);
    sim->written = loaded;
    for (size_t i = 0; i < sim->lease_count; i++) {
        const struct sim_lease *lease = &sim->leases[i];
        if (lease->ended_us == LK_NEVER && lease->until_us > sim->times.now_us && !lease->bound
            && !lease->is_claim && !is_there(snapshot->model, lease)) {
            sim_fail(sim, "%s was answered that it %s %s, and it is not there after a crash",
                     lease->owner, lease->token != 0 ? "holds" : "waits for", lease->parts[0]);
        }
    }
}

/* ---- the whole history ----------------------------------------------------------------------- */

static int64_t end_of(const struct sim_lease *lease) {
    return lease->ended_us < lease->until_us ? lease->ended_us : lease->until_us;
}

static bool conflict(const struct sim_lease *a, const struct sim_lease *b) {
    for (size_t i = 0; i < a->part_count; i++) {
        for (size_t j = 0; j < b->part_count; j++) {
            struct lk_part one;
            struct lk_part other;
            (void)lk_part_parse(lk_slice_of(a->parts[i]), NULL, &one, NULL);
            (void)lk_part_parse(lk_slice_of(b->parts[j]), NULL, &other, NULL);
            if (lk_path_related(&one.path, &other.path)
                && (one.mode == LK_EXCLUSIVE || other.mode == LK_EXCLUSIVE)) {
                return true;
            }
        }
    }
    return false;
}

static bool share_a_root(const struct sim_lease *a, const struct sim_lease *b) {
    for (size_t i = 0; i < a->part_count; i++) {
        for (size_t j = 0; j < b->part_count; j++) {
            size_t size = strcspn(a->parts[i], "/?");
            if (size == strcspn(b->parts[j], "/?") && memcmp(a->parts[i], b->parts[j], size) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* R4: the later decision has the greater token; R6: and overlaps with nothing it conflicts with. */
static void check_pair(struct sim *sim, const struct sim_lease *a, const struct sim_lease *b) {
    if (share_a_root(a, b) && a->number != 0 && b->number != 0
        && (a->number < b->number) != (a->token < b->token)) {
        sim_fail(sim,
                 "R4: decision %" PRIu64 " drew %" PRIu64 ", decision %" PRIu64 " drew %" PRIu64,
                 a->number, a->token, b->number, b->token);
    }
    if (strcmp(a->owner, b->owner) != 0 && a->decided_us < end_of(b) && b->decided_us < end_of(a)
        && conflict(a, b)) {
        sim_fail(sim, "granted twice: %s %s (token %" PRIu64 ") and %s %s (token %" PRIu64 ")",
                 a->owner, a->parts[0], a->token, b->owner, b->parts[0], b->token);
    }
}

/* R7c, of the one pool there is. */
static void check_pool(struct sim *sim, const struct sim_lease *lease) {
    size_t count = 0;

    for (size_t i = 0; i < sim->lease_count; i++) {
        const struct sim_lease *other = &sim->leases[i];
        count += other->token != 0 && strncmp(other->parts[0], "pool", 4) == 0
                 && other->decided_us <= lease->decided_us && end_of(other) > lease->decided_us;
    }
    if (count > 2) {
        sim_fail(sim, "R7: %zu hold a pool of 2", count);
    }
}

/* R7b: no request was granted before one that was queued there earlier. */
static void check_line(struct sim *sim, const struct sim_lease *granted) {
    for (size_t i = 0; i < sim->lease_count; i++) {
        const struct sim_lease *waiting = &sim->leases[i];
        if (waiting->token == 0 && waiting->ticket < granted->ticket
            && strcmp(waiting->owner, granted->owner) != 0
            && waiting->decided_us < granted->decided_us && end_of(waiting) > granted->decided_us
            && conflict(waiting, granted)) {
            sim_fail(sim, "R7: %s got %s before %s, which was queued", granted->owner,
                     granted->parts[0], waiting->owner);
        }
    }
}

void check_history(struct sim *sim) {
    for (size_t i = 0; i < sim->lease_count && sim->wrong == NULL; i++) {
        const struct sim_lease *lease = &sim->leases[i];
        if (lease->token == 0) {
            continue;
        }
        for (size_t j = i + 1; j < sim->lease_count; j++) {
            if (sim->leases[j].token != 0) {
                check_pair(sim, lease, &sim->leases[j]);
            }
        }
        if (lease->number != 0 && !lease->is_covered) {
            check_line(sim, lease);
        }
        if (strncmp(lease->parts[0], "pool", 4) == 0) {
            check_pool(sim, lease);
        }
    }
}
