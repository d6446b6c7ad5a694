/* SPDX-License-Identifier: Apache-2.0 */
/* Several commands in one decision of `mem:` (R16), for its table. */
#ifndef LK_ENGINE_MEMORY_BATCHES_H
#define LK_ENGINE_MEMORY_BATCHES_H

#include "engine/engine.h"

extern const struct lk_batch_ops lk_memory_batch_ops;

#endif
