/* SPDX-License-Identifier: Apache-2.0 */
/* The bound on the total size of values and items. */
#include "server/core/core_internal.h"

/* The bytes that a release stores, with the room of each value beyond the first; as below. */
static int64_t bytes_of_puts(const struct lk_release *release) {
    int64_t bytes = 0;

    for (size_t i = 0; i < release->put_count; i++) {
        bytes += (int64_t)release->puts[i].bytes.size + (i > 0 ? LK_KEPT_COST_BYTES : 0);
    }
    return release->put_count > 0 ? bytes : LK_NEVER;
}

/* The bytes that a command stores; LK_NEVER: it stores none. */
static int64_t bytes_of(const struct lk_command *command) {
    switch (command->kind) {
    case LK_COMMAND_PUT:
        return command->put.deletes ? LK_NEVER : (int64_t)command->put.bytes.size;
    case LK_COMMAND_PUSH:
        return (int64_t)command->push.value.size;
    case LK_COMMAND_RELEASE:
        return bytes_of_puts(&command->release);
    default:
        return LK_NEVER;
    }
}

bool lk_core_has_room(const struct lk_core *core, const struct lk_command *command) {
    int64_t bytes = bytes_of(command);

    return bytes == LK_NEVER
           || lk_model_kept_bytes(core->model) + (uint64_t)bytes + LK_KEPT_COST_BYTES
                  <= core->config.value_bytes_max;
}
