/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last claims that a wait has made by a steal (R16). Only the answer that makes a claim says
 * that it is one. The take that follows the wait has the same ask number, so it is answered the
 * same item (R3). Guarded by the mutex of the service.
 */
#ifndef LK_ENGINE_SERVICE_STEALS_H
#define LK_ENGINE_SERVICE_STEALS_H

#include <stdbool.h>
#include <stdint.h>

enum { LK_SERVICE_STEALS = 64 }; /* of waits at the same time, of as many threads */

struct lk_service_steals {
    uint64_t numbers[LK_SERVICE_STEALS]; /* ask numbers; 0: none. The oldest one is replaced */
    unsigned next;
};

static inline void lk_service_steals_note(struct lk_service_steals *steals, uint64_t number) {
    steals->numbers[steals->next] = number;
    steals->next = (steals->next + 1) % LK_SERVICE_STEALS;
}

/* Whether the claim with this ask number is one of them; it is forgotten. */
static inline bool lk_service_steals_take(struct lk_service_steals *steals, uint64_t number) {
    for (unsigned i = 0; number != 0 && i < LK_SERVICE_STEALS; i++) {
        if (steals->numbers[i] == number) {
            steals->numbers[i] = 0;
            return true;
        }
    }
    return false;
}

#endif
