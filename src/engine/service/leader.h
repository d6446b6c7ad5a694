/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections to a leader that another service has named (`-MOVED`). A wrong --advertise may name
 * any service, also one with another store, which would grant what is held: so each of these
 * connections begins with INFO.
 */
#ifndef LK_ENGINE_SERVICE_LEADER_H
#define LK_ENGINE_SERVICE_LEADER_H

#include "engine/service/link.h"

/*
 * LK_OK: the service at the other end leads, and is the one that was named by this address.
 * LK_UNAVAILABLE: it is not, or does not answer; LK_CANCELLED, LK_DENIED, LK_INTERNAL.
 */
lk_outcome lk_service_leader_check(struct lk_service_link *link, const struct lk_patience *patience,
                                   lk_error *error);

/* Sets *error to the cause, with the text that `named_by` has named this address before it. */
lk_outcome lk_service_leader_explain(const struct lk_service_address *leader,
                                     const struct lk_service_address *named_by,
                                     const lk_error *cause, lk_error *error);

#endif
