/* SPDX-License-Identifier: Apache-2.0 */
/* From the options of lk serve to a context for TLS. */
#include "cli/serve/tls.h"

#include "base/error.h"
#include "server/log/log.h"

static struct lk_tls_files files_of(const struct lk_command_line *line) {
    return (struct lk_tls_files){
        .certificate = lk_command_line_text(line, LK_OPTION_TLS_CERT),
        .key = lk_command_line_text(line, LK_OPTION_TLS_KEY),
        .authorities = lk_command_line_text(line, LK_OPTION_TLS_CA),
    };
}

lk_outcome lk_serve_tls_open(const struct lk_command_line *line,
                             struct lk_tls_context **ret_context, lk_error *error) {
    const struct lk_tls_files files = files_of(line);

    *ret_context = NULL;
    if (files.certificate == NULL && files.key == NULL && files.authorities == NULL) {
        return LK_OK;
    }
    if (files.certificate == NULL || files.key == NULL) {
        return lk_error_set(error, LK_INVALID,
                            "TLS needs both --tls-cert FILE and --tls-key FILE: %s is missing",
                            files.certificate == NULL ? "--tls-cert" : "--tls-key");
    }
    return lk_tls_server_new(&files, ret_context, error);
}

void lk_serve_tls_read_again(const struct lk_command_line *line, struct lk_tls_context *context) {
    const struct lk_tls_files files = files_of(line);
    lk_error error;

    if (context == NULL || files.certificate == NULL || files.key == NULL) {
        return;
    }
    if (lk_tls_context_reload(context, &files, &error) == LK_OK) {
        lk_log(LK_LOG_INFO, "reload", "the certificate was read again");
    } else {
        lk_log(LK_LOG_ERROR, "the former certificate stays", "%s", error.text);
    }
}
