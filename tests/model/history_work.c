/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the lines of a history that are about values and items. */
#include "history.h"

static const char *read_put(struct lk_slice owner, bool deletes, struct lk_slice text,
                            const struct history_tokens *tokens,
                            struct history_command *ret_event) {
    struct lk_put *put = &ret_event->command.put;

    ret_event->command.kind = LK_COMMAND_PUT;
    *put = (struct lk_put){.owner = owner, .deletes = deletes};
    if (lk_path_parse(history_word(&text), &put->path, NULL) != LK_OK) {
        return "not a path";
    }
    for (struct lk_slice word = history_word(&text); word.size > 0; word = history_word(&text)) {
        if (!history_number(word, "token", tokens, &put->token)
            && !(!deletes && history_starts_with(word, "value=", &put->bytes))) {
            return "a put or delete has no such word";
        }
    }
    return NULL;
}

/* PART[,PART...] */
static const char *read_needs(struct lk_slice list, struct history_command *command,
                              size_t *ret_count) {
    size_t count = 0;

    while (list.size > 0) {
        const char *comma = memchr(list.bytes, ',', list.size);
        size_t size = comma != NULL ? (size_t)(comma - list.bytes) : list.size;
        if (count == LK_PARTS_MAX
            || lk_need_parse((struct lk_slice){list.bytes, size}, &command->parts[count++], NULL)
                   != LK_OK) {
            return "not a part";
        }
        size += comma != NULL;
        list = (struct lk_slice){list.bytes + size, list.size - size};
    }
    *ret_count = count;
    return NULL;
}

static bool read_push_kind(struct lk_slice word, enum lk_push_kind *ret_kind) {
    if (history_is(word, "again")) {
        *ret_kind = LK_PUSH_AGAIN;
    } else if (history_is(word, "replaces")) {
        *ret_kind = LK_PUSH_REPLACE;
    } else {
        return false;
    }
    return true;
}

static const char *read_push(struct lk_slice text, struct history_command *ret_event) {
    struct lk_push *push = &ret_event->command.push;
    struct lk_slice needs;
    uint64_t delay_ms = 0;
    uint64_t keep_ms = 0;
    int64_t priority = 0;
    const char *wrong = NULL;

    ret_event->command.kind = LK_COMMAND_PUSH;
    *push = (struct lk_push){.needs = ret_event->parts};
    if (lk_path_parse(history_word(&text), &push->queue, NULL) != LK_OK) {
        return "not a queue";
    }
    push->id = history_word(&text);
    for (struct lk_slice word = history_word(&text); wrong == NULL && word.size > 0;
         word = history_word(&text)) {
        if (history_starts_with(word, "needs=", &needs)) {
            wrong = read_needs(needs, ret_event, &push->need_count);
        } else if (!history_starts_with(word, "value=", &push->value)
                   && !history_signed(word, "priority", &priority)
                   && !history_number(word, "delay", NULL, &delay_ms)
                   && !history_number(word, "keep", NULL, &keep_ms)
                   && !read_push_kind(word, &push->kind)) {
            wrong = "a push has no such word";
        }
    }
    push->delay_ms = (int64_t)delay_ms;
    push->keep_ms = (int64_t)keep_ms;
    push->priority = (int32_t)priority;
    return wrong;
}

static const char *read_claim(struct lk_slice owner, struct lk_slice text,
                              const struct history_tokens *tokens,
                              struct history_command *ret_event) {
    struct lk_take *take = &ret_event->command.take;
    uint64_t ttl_ms = 0;
    uint64_t max_attempts = 0;

    ret_event->command.kind = LK_COMMAND_TAKE;
    *take = (struct lk_take){.owner = owner};
    if (lk_path_parse(history_word(&text), &take->queue, NULL) != LK_OK) {
        return "not a queue";
    }
    for (struct lk_slice word = history_word(&text); word.size > 0; word = history_word(&text)) {
        if (history_starts_with(word, "note=", &take->note)) {
            take->note_given = true;
        } else if (!history_number(word, "ttl", NULL, &ttl_ms)
                   && !history_number(word, "attempts", NULL, &max_attempts)
                   && !history_number(word, "share", tokens, &take->share_token)
                   && !history_number(word, "ask", NULL, &take->ask_number)) {
            return "a claim has no such word";
        }
    }
    take->ttl_ms = (int64_t)ttl_ms;
    take->max_attempts = (uint32_t)max_attempts;
    return NULL;
}

/* What only the item that is given back has. */
static bool read_retry(struct lk_slice word, struct lk_finish *finish) {
    uint64_t delay_ms;
    int64_t exit_code;

    if (history_number(word, "delay", NULL, &delay_ms)) {
        finish->delay_ms = (int64_t)delay_ms;
    } else if (history_is(word, "uncounted")) {
        finish->is_uncounted = true;
    } else if (history_is(word, "parks")) {
        finish->parks = true;
    } else if (history_signed(word, "exit", &exit_code)) {
        finish->failure.has_exit = true;
        finish->failure.exit_code = (int32_t)exit_code;
    } else {
        return history_starts_with(word, "error=", &finish->failure.text);
    }
    return true;
}

/* What only the item that is done has. */
static bool read_done(struct lk_slice word, struct lk_finish *finish) {
    uint64_t keep_ms;

    if (history_number(word, "keep", NULL, &keep_ms)) {
        finish->keep_ms = (int64_t)keep_ms;
        return true;
    }
    return history_starts_with(word, "result=", &finish->result);
}

static bool read_finish_word(struct lk_slice word, struct lk_finish *finish) {
    switch (finish->kind) {
    case LK_FINISH_DONE:
        return read_done(word, finish);
    case LK_FINISH_RETRY:
        return read_retry(word, finish);
    case LK_FINISH_PROGRESS:
    default:
        return history_starts_with(word, "text=", &finish->progress);
    }
}

static const char *read_finish(struct lk_slice owner, enum lk_finish_kind kind,
                               struct lk_slice text, const struct history_tokens *tokens,
                               struct history_command *ret_event) {
    struct lk_finish *finish = &ret_event->command.finish;

    ret_event->command.kind = LK_COMMAND_FINISH;
    *finish = (struct lk_finish){.owner = owner, .kind = kind};
    if (lk_path_parse(history_word(&text), &finish->queue, NULL) != LK_OK) {
        return "not a queue";
    }
    finish->id = history_word(&text);
    for (struct lk_slice word = history_word(&text); word.size > 0; word = history_word(&text)) {
        if (!history_number(word, "token", tokens, &finish->token)
            && !read_finish_word(word, finish)) {
            return "the end of a claim has no such word";
        }
    }
    return NULL;
}

static const char *read_unpark(struct lk_slice text, struct history_command *ret_event) {
    struct lk_unpark *unpark = &ret_event->command.unpark;

    ret_event->command.kind = LK_COMMAND_UNPARK;
    if (lk_path_parse(history_word(&text), &unpark->queue, NULL) != LK_OK) {
        return "not a queue";
    }
    unpark->id = history_word(&text);
    return NULL;
}

static const char *read_drop(struct lk_slice text, struct history_command *ret_event) {
    struct lk_drop *drop = &ret_event->command.drop;
    struct lk_slice word;

    ret_event->command.kind = LK_COMMAND_DROP;
    if (lk_path_parse(history_word(&text), &drop->queue, NULL) != LK_OK) {
        return "not a queue";
    }
    drop->id = history_word(&text);
    word = history_word(&text);
    drop->only_parked = history_is(word, "parked");
    return word.size == 0 || drop->only_parked ? NULL : "a drop has no such word";
}

const char *history_read_work(struct lk_slice owner, struct lk_slice verb, struct lk_slice text,
                              const struct history_tokens *tokens,
                              struct history_command *ret_event) {
    if (history_is(verb, "put") || history_is(verb, "del")) {
        return read_put(owner, history_is(verb, "del"), text, tokens, ret_event);
    }
    if (history_is(verb, "push")) {
        return read_push(text, ret_event);
    }
    if (history_is(verb, "unpark")) {
        return read_unpark(text, ret_event);
    }
    if (history_is(verb, "drop")) {
        return read_drop(text, ret_event);
    }
    if (history_is(verb, "claim")) {
        return read_claim(owner, text, tokens, ret_event);
    }
    if (history_is(verb, "done")) {
        return read_finish(owner, LK_FINISH_DONE, text, tokens, ret_event);
    }
    if (history_is(verb, "progress")) {
        return read_finish(owner, LK_FINISH_PROGRESS, text, tokens, ret_event);
    }
    if (history_is(verb, "retry")) {
        return read_finish(owner, LK_FINISH_RETRY, text, tokens, ret_event);
    }
    return "no such verb";
}
