/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections of an engine: the pools of idle ones, and new ones to whichever service of the
 * URL can be reached.
 *
 * With several services a machine may go without a word: its connections stay open, and nothing
 * comes over them. So a call that has waited for its answer for a while asks the same service for a
 * sign of life over another connection, and gives its own up when there is none.
 */
#ifndef LK_ENGINE_SERVICE_CONNECTIONS_H
#define LK_ENGINE_SERVICE_CONNECTIONS_H

#include "engine/service/call.h"

/*
 * Connects to the last known leader, else to each other service of the URL once, with its outcome
 * as lk_service_link_open() has it. Of several services LK_UNAVAILABLE: one of them may be back
 * later.
 */
lk_outcome lk_service_connect(struct lk_service *service, const struct lk_patience *patience,
                              struct lk_service_link **ret_link, lk_error *error);

/* An idle connection, or a new one. */
lk_outcome lk_service_link_take(struct lk_service *service, const struct lk_builder *builder,
                                const struct lk_patience *patience,
                                struct lk_service_link **ret_link, lk_error *error);
void lk_service_link_return(struct lk_service *service, struct lk_service_link *link);

/* lk_service_link_receive(); with several services LK_UNAVAILABLE also when the service is gone. */
lk_outcome lk_service_link_hear(struct lk_service *service, struct lk_service_link *link,
                                const struct lk_patience *patience, struct lk_slice *ret_reply);

/*
 * The service of this connection cannot serve: closes the connection, and with several services the
 * next one of the list is tried.
 */
void lk_service_link_give_up(struct lk_service *service, struct lk_service_link *link);

/* Whether the URL names several services. */
bool lk_service_has_several(const struct lk_service *service);

#endif
