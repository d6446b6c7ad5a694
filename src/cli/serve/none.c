/* SPDX-License-Identifier: Apache-2.0 */
/* lk serve in a build without SQLite, which a service keeps its file with. */
#include "cli/cli.h"
#include "cli/print/say.h"

int lk_cli_serve(const struct lk_cli *cli, const struct lk_command_line *line) {
    (void)line;
    return lk_say_failure(cli, LK_UNSUPPORTED,
                          "this lk was built without SQLite, and so without a "
                          "service");
}
