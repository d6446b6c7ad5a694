/* SPDX-License-Identifier: Apache-2.0 */
/* From flock(1), consul lock, GNU parallel and others, where lk has a word for the same. */
#include "cli/parse/other_words.h"

#include <string.h>

struct pair {
    const char *other;
    const char *own;
};

static const struct pair commands[] = {
    {"exec", "run"},      {"flock", "run"},    {"list", "ls"},       {"lock", "acquire"},
    {"locks", "ls"},      {"status", "show"},  {"steal", "break"},   {"unlock", "release"},
    {"refresh", "renew"}, {"enqueue", "push"}, {"monitor", "watch"},
};

static const struct pair options[] = {
    {"nb", "try"},      {"nonblock", "try"}, {"nonblocking", "try"},
    {"no-wait", "try"}, {"timeout", "wait"}, {"expire", "ttl"},
    {"lease", "ttl"},   {"message", "note"}, {"error-exitcode", "conflict-exit-code"},
};

static const char *find(const struct pair *pairs, size_t count, const char *word, size_t size) {
    for (size_t i = 0; i < count; i++) {
        if (strlen(pairs[i].other) == size && memcmp(pairs[i].other, word, size) == 0) {
            return pairs[i].own;
        }
    }
    return NULL;
}

const char *lk_other_command(const char *word, size_t size) {
    return find(commands, sizeof commands / sizeof commands[0], word, size);
}

const char *lk_other_option(const char *word, size_t size) {
    return find(options, sizeof options / sizeof options[0], word, size);
}
