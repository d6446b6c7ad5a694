/* SPDX-License-Identifier: Apache-2.0 */
/* PostgreSQL's client library, loaded when a store is opened (base/library.h). */
#ifndef LK_ENGINE_POSTGRESQL_LIBPQ_H
#define LK_ENGINE_POSTGRESQL_LIBPQ_H

#include <libpq-events.h>
#include <libpq-fe.h>

/* Its headers may be those of libpq 13. One without these functions is refused when loaded. */
#ifndef LIBPQ_HAS_PIPELINING
#define PGRES_PIPELINE_SYNC ((ExecStatusType)(PGRES_SINGLE_TUPLE + 1))
#define PGRES_PIPELINE_ABORTED ((ExecStatusType)(PGRES_SINGLE_TUPLE + 2))
int PQenterPipelineMode(PGconn *connection);
int PQexitPipelineMode(PGconn *connection);
int PQpipelineSync(PGconn *connection);
#endif

#include "engine/postgresql/libpq_functions.h"
#include "lockkeeper/lockkeeper.h"

/* Before any other function of the library. LK_OK, or LK_UNSUPPORTED. */
lk_outcome lk_libpq_load(lk_error *error);

#endif
