/* SPDX-License-Identifier: Apache-2.0 */
/* Reading histories, word by word. */
#include "history.h"

#include <stdlib.h>

/* ---- words ---- */

static bool is_blank(char character) {
    return character == ' ' || character == '\t' || character == '\n' || character == '\r';
}

struct lk_slice history_word(struct lk_slice *text) {
    struct lk_slice word;

    while (text->size > 0 && is_blank(text->bytes[0])) {
        text->bytes++;
        text->size--;
    }
    word = (struct lk_slice){.bytes = text->bytes, .size = 0};
    while (text->size > 0 && !is_blank(text->bytes[0])) {
        word.size++;
        text->bytes++;
        text->size--;
    }
    return word;
}

bool history_is(struct lk_slice word, const char *name) {
    return lk_slice_equal(word, lk_slice_of(name));
}

bool history_starts_with(struct lk_slice word, const char *name, struct lk_slice *ret_rest) {
    size_t size = strlen(name);

    if (word.size < size || memcmp(word.bytes, name, size) != 0) {
        return false;
    }
    *ret_rest = (struct lk_slice){.bytes = word.bytes + size, .size = word.size - size};
    return true;
}

static bool read_number(struct lk_slice digits, uint64_t *ret_number) {
    uint64_t number = 0;

    if (digits.size == 0 || digits.size > 18) {
        return false;
    }
    for (size_t i = 0; i < digits.size; i++) {
        if (digits.bytes[i] < '0' || digits.bytes[i] > '9') {
            return false;
        }
        number = number * 10 + (uint64_t)(digits.bytes[i] - '0');
    }
    *ret_number = number;
    return true;
}

static bool read_signed(struct lk_slice digits, int64_t *ret_number) {
    uint64_t number;
    bool negative = digits.size > 0 && digits.bytes[0] == '-';

    if (negative) {
        digits.bytes++;
        digits.size--;
    }
    if (!read_number(digits, &number)) {
        return false;
    }
    *ret_number = negative ? -(int64_t)number : (int64_t)number;
    return true;
}

bool history_number(struct lk_slice word, const char *name, const struct history_tokens *tokens,
                    uint64_t *ret_number) {
    struct lk_slice value;

    if (!history_starts_with(word, name, &value) || value.size < 2 || value.bytes[0] != '=') {
        return false;
    }
    value.bytes++;
    value.size--;
    if (value.bytes[0] == '$' && value.size == 2 && tokens != NULL && value.bytes[1] >= 'a'
        && value.bytes[1] <= 'z') {
        *ret_number = tokens->of[(size_t)value.bytes[1]];
        return true;
    }
    return read_number(value, ret_number);
}

bool history_signed(struct lk_slice word, const char *name, int64_t *ret_number) {
    struct lk_slice value;

    if (!history_starts_with(word, name, &value) || value.size < 2 || value.bytes[0] != '=') {
        return false;
    }
    return read_signed((struct lk_slice){value.bytes + 1, value.size - 1}, ret_number);
}

/* ---- reading ---- */

struct lk_times history_start(void) {
    return (struct lk_times){.now_us = 1, .wall_us = HISTORY_WALL_US}; /* a record's 0 is no time */
}

/* `+NOW/WALL` */
static bool read_clocks(struct lk_slice word, struct lk_times *times) {
    const char *slash = memchr(word.bytes, '/', word.size);
    int64_t now_us;
    int64_t wall_us;

    if (slash == NULL) {
        return false;
    }
    if (!read_signed((struct lk_slice){word.bytes + 1, (size_t)(slash - word.bytes) - 1}, &now_us)
        || !read_signed((struct lk_slice){slash + 1, (size_t)(word.bytes + word.size - slash) - 1},
                        &wall_us)) {
        return false;
    }
    if (now_us < 0 || now_us > (int64_t)HISTORY_SPAN_MS * 1000
        || llabs(wall_us) > (int64_t)HISTORY_SPAN_MS * 1000) {
        return false;
    }
    times->now_us += now_us;
    times->wall_us += wall_us;
    return true;
}

static const char *read_ask_word(struct lk_slice word, struct lk_times times, struct lk_ask *ask) {
    uint64_t number;

    if (history_number(word, "ttl", NULL, &number)) {
        ask->ttl_ms = (int64_t)number;
    } else if (history_number(word, "until", NULL, &number) && number <= HISTORY_SPAN_MS) {
        ask->until_us = times.wall_us + (int64_t)number * 1000;
    } else if (history_number(word, "max", NULL, &number)) {
        ask->blockers_max = number;
    } else if (history_starts_with(word, "note=", &ask->note)) {
        ask->note_given = true;
    } else if (history_is(word, "get=yes")) {
        ask->wants_value = true;
    } else {
        return "an ask has no such word";
    }
    return NULL;
}

/* Parts, up to the first word with a `=` before any `?`. */
static const char *read_parts(struct lk_slice *text, struct history_command *command,
                              size_t *ret_count) {
    size_t count = 0;

    for (;;) {
        struct lk_slice rest = *text;
        struct lk_slice word = history_word(&rest);
        const char *equals = word.size > 0 ? memchr(word.bytes, '=', word.size) : NULL;
        const char *mark = word.size > 0 ? memchr(word.bytes, '?', word.size) : NULL;
        if (word.size == 0 || (equals != NULL && (mark == NULL || equals < mark))) {
            break;
        }
        if (count == LK_PARTS_MAX
            || lk_part_parse(word, NULL, &command->parts[count], NULL) != LK_OK) {
            return "not a part";
        }
        count++;
        *text = rest;
    }
    *ret_count = count;
    return NULL;
}

static const char *read_ask(struct lk_slice owner, lk_style style, struct lk_slice text,
                            struct history_command *ret_event) {
    struct lk_ask *ask = &ret_event->command.ask;
    const char *wrong;

    ret_event->command.kind = LK_COMMAND_ASK;
    *ask = (struct lk_ask){
        .owner = owner, .parts = ret_event->parts, .style = style, .blockers_max = 16};
    wrong = read_parts(&text, ret_event, &ask->part_count);
    for (struct lk_slice word = history_word(&text); wrong == NULL && word.size > 0;
         word = history_word(&text)) {
        wrong = read_ask_word(word, ret_event->command.times, ask);
    }
    return wrong;
}

static const char *read_renew(struct lk_slice owner, struct lk_slice text,
                              const struct history_tokens *tokens,
                              struct history_command *ret_event) {
    struct lk_renew *renew = &ret_event->command.renew;
    uint64_t ttl_ms = 0;
    const char *wrong;

    ret_event->command.kind = LK_COMMAND_RENEW;
    *renew = (struct lk_renew){.target = {.owner = owner, .parts = ret_event->parts}};
    wrong = read_parts(&text, ret_event, &renew->target.part_count);
    for (struct lk_slice word = history_word(&text); wrong == NULL && word.size > 0;
         word = history_word(&text)) {
        if (!history_number(word, "token", tokens, &renew->target.token)
            && !history_number(word, "ttl", NULL, &ttl_ms)) {
            wrong = "a renewal has no such word";
        }
    }
    renew->ttl_ms = (int64_t)ttl_ms;
    return wrong;
}

static const char *read_release(struct lk_slice owner, struct lk_slice text,
                                const struct history_tokens *tokens,
                                struct history_command *ret_event) {
    struct lk_release *release = &ret_event->command.release;
    struct lk_slice bytes;
    size_t part = 0; /* the n-th word is about the n-th part */
    const char *wrong;

    ret_event->command.kind = LK_COMMAND_RELEASE;
    *release = (struct lk_release){.target = {.owner = owner, .parts = ret_event->parts},
                                   .puts = ret_event->puts};
    wrong = read_parts(&text, ret_event, &release->target.part_count);
    for (struct lk_slice word = history_word(&text); wrong == NULL && word.size > 0;
         word = history_word(&text)) {
        if (history_is(word, "put-nothing=")) {
            part++;
        } else if (part < LK_PARTS_MAX && history_starts_with(word, "put=", &bytes)) {
            ret_event->puts[release->put_count++] =
                (struct lk_release_put){.part = part++, .bytes = bytes};
        } else if (!history_number(word, "token", tokens, &release->target.token)) {
            wrong = "a release has no such word";
        }
    }
    return wrong;
}

static const char *read_leave(struct lk_slice owner, struct lk_slice text,
                              const struct history_tokens *tokens,
                              struct history_command *ret_event) {
    struct lk_leave *leave = &ret_event->command.leave;
    const char *wrong;

    ret_event->command.kind = LK_COMMAND_LEAVE;
    *leave = (struct lk_leave){.target = {.owner = owner, .parts = ret_event->parts}};
    wrong = read_parts(&text, ret_event, &leave->target.part_count);
    for (struct lk_slice word = history_word(&text); wrong == NULL && word.size > 0;
         word = history_word(&text)) {
        if (history_is(word, "claim=yes")) {
            leave->is_claim = true;
        } else if (history_is(word, "wait=yes")) {
            leave->is_of_wait = true;
        } else if (!history_number(word, "token", tokens, &leave->target.token)) {
            wrong = "a leave has no such word";
        }
    }
    return wrong;
}

static const char *read_break(struct lk_slice text, struct history_command *ret_event) {
    struct lk_break *broken = &ret_event->command.broken;

    ret_event->command.kind = LK_COMMAND_BREAK;
    *broken = (struct lk_break){.at_once = false};
    if (lk_path_parse(history_word(&text), &broken->path, NULL) != LK_OK) {
        return "not a path";
    }
    for (struct lk_slice word = history_word(&text); word.size > 0; word = history_word(&text)) {
        if (history_is(word, "now")) {
            broken->at_once = true;
        } else if (history_is(word, "cancel")) {
            broken->cancels = true;
        } else if (!history_starts_with(word, "owner=", &broken->owner)) {
            return "a break has no such word";
        }
    }
    return NULL;
}

static const char *read_pass(struct lk_slice text, struct lk_times *times,
                             struct history_command *ret_event) {
    struct lk_slice word = history_word(&text);
    uint64_t pass_ms = 0;

    if (word.size > 0 && (!read_number(word, &pass_ms) || pass_ms > HISTORY_SPAN_MS)) {
        return "not a number of milliseconds";
    }
    times->now_us += (int64_t)pass_ms * 1000;
    times->wall_us += (int64_t)pass_ms * 1000;
    ret_event->command.kind = LK_COMMAND_TICK;
    ret_event->command.times = *times;
    return NULL;
}

static const char *read_of_owner(struct lk_slice owner, struct lk_slice text,
                                 const struct history_tokens *tokens,
                                 struct history_command *ret_event) {
    struct lk_slice verb = history_word(&text);

    if (history_is(verb, "try")) {
        return read_ask(owner, LK_TRY, text, ret_event);
    }
    if (history_is(verb, "queue")) {
        return read_ask(owner, LK_QUEUE, text, ret_event);
    }
    if (history_is(verb, "wait")) {
        return read_ask(owner, LK_WAIT, text, ret_event);
    }
    if (history_is(verb, "renew")) {
        return read_renew(owner, text, tokens, ret_event);
    }
    if (history_is(verb, "release")) {
        return read_release(owner, text, tokens, ret_event);
    }
    if (history_is(verb, "leave")) {
        return read_leave(owner, text, tokens, ret_event);
    }
    return history_read_work(owner, verb, text, tokens, ret_event);
}

/* Commands on values and items that name no owner. */
static bool is_of_nobody(struct lk_slice word) {
    return history_is(word, "push") || history_is(word, "unpark") || history_is(word, "drop")
           || history_is(word, "put") || history_is(word, "del");
}

const char *history_read(const char *line, size_t size, const struct history_tokens *tokens,
                         struct lk_times *times, struct history_command *ret_event) {
    struct lk_slice text = {.bytes = line, .size = size};
    struct lk_slice word = history_word(&text);

    if (word.size > 0 && word.bytes[0] == '+') {
        if (!read_clocks(word, times)) {
            return "not +NOW/WALL";
        }
        word = history_word(&text);
    } else if (!history_is(word, "pass")) {
        times->now_us += HISTORY_STEP_US;
        times->wall_us += HISTORY_STEP_US;
    }
    ret_event->command.times = *times;
    if (history_is(word, "pass")) {
        return read_pass(text, times, ret_event);
    }
    if (history_is(word, "break")) {
        return read_break(text, ret_event);
    }
    if (is_of_nobody(word)) {
        return history_read_work((struct lk_slice){NULL, 0}, word, text, tokens, ret_event);
    }
    return read_of_owner(word, text, tokens, ret_event);
}
