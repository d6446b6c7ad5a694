/* SPDX-License-Identifier: Apache-2.0 */
/* ZooKeeper as a lock service. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lock_services.h"

enum { PATH_BYTES = 512 };

#define ZOOKEEPER_JAR "/usr/share/java/zookeeper.jar"

enum { CREATE = 1, DELETE = 2, EPHEMERAL = 1, ALL_RIGHTS = 31, REPLY_HEADER_BYTES = 20 };

static struct peer start_zookeeper(const char *folder) {
    char config[PATH_BYTES];
    char log[PATH_BYTES];
    int port = peer_port();
    char *arguments[] = {"java",
                         "-cp",
                         "/etc/zookeeper/conf_example:" ZOOKEEPER_JAR,
                         "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                         config,
                         NULL};
    FILE *file;

    (void)snprintf(config, sizeof config, "%s/zoo.cfg", folder);
    (void)snprintf(log, sizeof log, "%s/zookeeper.log", folder);
    file = fopen(config, "we");
    if (file == NULL
        || fprintf(file,
                   "tickTime=2000\ndataDir=%s/zookeeper\nclientPort=%d\n"
                   "clientPortAddress=127.0.0.1\nadmin.enableServer=false\nmaxClientCnxns=0\n",
                   folder, port)
               < 0
        || fclose(file) != 0) {
        bench_give_up("%s cannot be written", config);
    }
    return peer_start(arguments, port, log);
}

static void put_int(struct load_request *request, unsigned number) {
    for (int shift = 24; shift >= 0; shift -= 8) {
        request->bytes[request->size++] = (char)(number >> shift & 255);
    }
}

static void put_text(struct load_request *request, const char *text) {
    size_t size = strlen(text);

    put_int(request, (unsigned)size);
    memcpy(request->bytes + request->size, text, size);
    request->size += size;
}

/* Its first four bytes say how many follow. */
static void end_frame(struct load_request *request) {
    size_t size = request->size;

    request->size = 0;
    put_int(request, (unsigned)(size - 4));
    request->size = size;
}

static void request_session(struct load_request *request) {
    enum { PASSWORD_BYTES = 16, SESSION_MS = 30000 };

    put_int(request, 0); /* the protocol's version */
    put_int(request, 0); /* nothing was seen before, in 8 bytes */
    put_int(request, 0);
    put_int(request, SESSION_MS);
    put_int(request, 0); /* a new session, in 8 bytes */
    put_int(request, 0);
    put_int(request, PASSWORD_BYTES);
    memset(request->bytes + request->size, 0, PASSWORD_BYTES + 1); /* and not only for reading */
    request->size += PASSWORD_BYTES + 1;
}

static void request_zookeeper(const void *context, size_t number, size_t step,
                              struct load_request *ret_request) {
    char path[32];

    (void)context;
    (void)snprintf(path, sizeof path, "/bench%zu", number);
    ret_request->size = 4;
    if (step == LOAD_STEPS_MAX) {
        request_session(ret_request);
    } else {
        put_int(ret_request, 1); /* the number of the request, which comes back */
        put_int(ret_request, step == 0 ? CREATE : DELETE);
        put_text(ret_request, path);
    }
    if (step == 0) {
        put_text(ret_request, "owner");
        put_int(ret_request, 1); /* one entry of rights */
        put_int(ret_request, ALL_RIGHTS);
        put_text(ret_request, "world");
        put_text(ret_request, "anyone");
        put_int(ret_request, EPHEMERAL);
    } else if (step == 1) {
        put_int(ret_request, UINT32_MAX); /* whatever its version */
    }
    end_frame(ret_request);
}

static unsigned read_int(const char *bytes) {
    const unsigned char *at = (const unsigned char *)bytes;

    return (unsigned)at[0] << 24 | (unsigned)at[1] << 16 | (unsigned)at[2] << 8 | at[3];
}

static size_t zookeeper_reply_size(const char *bytes, size_t size) {
    return size >= 4 && size >= read_int(bytes) + 4 ? read_int(bytes) + 4 : 0;
}

static bool expect_zookeeper(size_t step, const char *reply, size_t size) {
    (void)step;
    return size >= REPLY_HEADER_BYTES && read_int(reply + REPLY_HEADER_BYTES - 4) == 0;
}

const struct lock_service lock_service_zookeeper = {
    .name = "ZooKeeper (ephemeral node)",
    .program = "java",
    .file = ZOOKEEPER_JAR,
    .compiles = true,
    .start = start_zookeeper,
    .protocol = {zookeeper_reply_size, expect_zookeeper},
    .has_prelude = true,
    .step_count = 2,
    .request = request_zookeeper,
};
