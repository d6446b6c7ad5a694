/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of gRPC for a load (load.h): frames of HTTP/2 as bytes that are said as they are, each call
 * on the next stream of its connection. So the load is no dearer than one of plain HTTP.
 */
#ifndef LK_BENCH_GRPC_LOAD_H
#define LK_BENCH_GRPC_LOAD_H

#include "base/buffer.h"
#include "load.h"

/* A call of a method with its message. */
void grpc_load_render(struct load_request *request, const char *path,
                      const struct lk_buffer *message);

/* For struct load_protocol. */
void grpc_load_renew(struct load_request *request, uint64_t index);
size_t grpc_load_reply_size(const char *bytes, size_t size);

/* Whether a reply has a message: that of an error has none. */
bool grpc_load_has_message(const char *reply, size_t size);

#endif
