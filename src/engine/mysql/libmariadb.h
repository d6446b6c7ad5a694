/* SPDX-License-Identifier: Apache-2.0 */
/* MariaDB's client library, loaded when a store is opened (base/library.h). */
#ifndef LK_ENGINE_MYSQL_LIBMARIADB_H
#define LK_ENGINE_MYSQL_LIBMARIADB_H

#include <mysql.h>

#include "engine/mysql/libmariadb_functions.h"
#include "lockkeeper/lockkeeper.h"

/* Before any other function of the library. LK_OK, or LK_UNSUPPORTED. */
lk_outcome lk_libmariadb_load(lk_error *error);

#endif
