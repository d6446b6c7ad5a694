/* SPDX-License-Identifier: Apache-2.0 */
/* Redis, etcd and ZooKeeper as lock services. */
#include "lock_services.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "grpc_load.h"
#include "server/store/etcd/client.h"

enum { PATH_BYTES = 512 };

/* ---- Redis ----------------------------------------------------------------------------------- */

/* One word: blanks are tabs. Its hash is what EVALSHA wants. */
#define SCRIPT                                                                                     \
    "if\tredis.call('get',KEYS[1])==ARGV[1]\tthen\treturn\tredis.call('del',KEYS[1])\telse\t"      \
    "return\t0\tend"
#define SCRIPT_SHA "ea6ec4e30b9e86b229a027e07db75babe4de5f91"

static struct peer run_redis(const char *folder, const char *append_only) {
    char port[8];
    char log[PATH_BYTES];
    int number = peer_port();
    char *arguments[] = {"redis-server",
                         "--port",
                         port,
                         "--bind",
                         "127.0.0.1",
                         "--save",
                         "",
                         "--dir",
                         (char *)(uintptr_t)folder,
                         "--appendfsync",
                         "always",
                         "--appendonly",
                         (char *)(uintptr_t)append_only,
                         NULL};

    (void)snprintf(port, sizeof port, "%d", number);
    (void)snprintf(log, sizeof log, "%s/redis.log", folder);
    return peer_start(arguments, number, log);
}

static struct peer start_redis(const char *folder) {
    return run_redis(folder, "no");
}

static struct peer start_redis_durable(const char *folder) {
    return run_redis(folder, "yes");
}

static void request_redis(const void *context, size_t number, size_t step,
                          struct load_request *ret_request) {
    (void)context;
    if (step == LOAD_STEPS_MAX) {
        load_resp_render(ret_request, "SCRIPT LOAD %s", SCRIPT);
    } else if (step == 0) {
        load_resp_render(ret_request, "SET bench/%zu owner%zu NX PX 60000", number, number);
    } else {
        load_resp_render(ret_request, "EVALSHA %s 1 bench/%zu owner%zu", SCRIPT_SHA, number,
                         number);
    }
}

static bool expect_redis(size_t step, const char *reply, size_t size) {
    return size >= 2 && memcmp(reply, step == 0 ? "+O" : ":1", 2) == 0;
}

const struct lock_service lock_service_redis = {
    .name = "Redis (SET NX PX, script)",
    .program = "redis-server",
    .start = start_redis,
    .protocol = {load_resp_reply_size, expect_redis},
    .has_prelude = true,
    .step_count = 2,
    .request = request_redis,
};

const struct lock_service lock_service_redis_durable = {
    .name = "Redis, appendfsync always",
    .program = "redis-server",
    .start = start_redis_durable,
    .protocol = {load_resp_reply_size, expect_redis},
    .has_prelude = true,
    .step_count = 2,
    .request = request_redis,
};

/* ---- etcd ------------------------------------------------------------------------------------ */

static struct peer start_etcd(const char *folder) {
    char data[PATH_BYTES];
    char client[64];
    char peers[64];
    char cluster[80];
    char log[PATH_BYTES];
    int port = peer_port();
    char *arguments[] = {"etcd",  "--data-dir",
                         data,    "--listen-client-urls",
                         client,  "--advertise-client-urls",
                         client,  "--listen-peer-urls",
                         peers,   "--initial-advertise-peer-urls",
                         peers,   "--initial-cluster",
                         cluster, NULL};

    (void)snprintf(data, sizeof data, "%s/etcd", folder);
    (void)snprintf(client, sizeof client, "http://127.0.0.1:%d", port);
    (void)snprintf(peers, sizeof peers, "http://127.0.0.1:%d", peer_port());
    (void)snprintf(cluster, sizeof cluster, "default=%s", peers);
    (void)snprintf(log, sizeof log, "%s/etcd.log", folder);
    return peer_start(arguments, port, log);
}

static void render_http(struct load_request *request, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void render_http(struct load_request *request, const char *path, const char *format, ...) {
    char body[LOAD_REQUEST_BYTES];
    va_list arguments;
    int size;

    va_start(arguments, format);
    size = vsnprintf(body, sizeof body, format, arguments);
    va_end(arguments);
    request->size = (size_t)snprintf(
        request->bytes, sizeof request->bytes,
        "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", path, size, body);
}

/* Keys are base64 of "k" and five digits, which is eight characters without padding. */
static void write_key(size_t number, char ret_key[9]) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[8];

    (void)snprintf(text, sizeof text, "k%05zu", number % 100000);
    for (int i = 0; i < 2; i++) {
        unsigned bits = (unsigned)text[i * 3] << 16 | (unsigned)text[i * 3 + 1] << 8
                        | (unsigned)text[i * 3 + 2];
        for (int k = 0; k < 4; k++) {
            ret_key[i * 4 + k] = digits[bits >> (18 - 6 * k) & 63];
        }
    }
    ret_key[8] = '\0';
}

static void request_etcd(const void *context, size_t number, size_t step,
                         struct load_request *ret_request) {
    char key[9];

    (void)context;
    write_key(number, key);
    if (step == 0) {
        render_http(ret_request, "/v3/kv/txn",
                    "{\"compare\":[{\"key\":\"%s\",\"target\":\"CREATE\",\"create_revision\":\"0\"}"
                    "],\"success\":[{\"request_put\":{\"key\":\"%s\",\"value\":\"b3duZXI=\"}}]}",
                    key, key);
    } else {
        render_http(ret_request, "/v3/kv/deleterange", "{\"key\":\"%s\"}", key);
    }
}

static bool expect_etcd(size_t step, const char *reply, size_t size) {
    const char *wanted = step == 0 ? "\"succeeded\":true" : "\"deleted\":\"1\"";

    return memmem(reply, size, wanted, strlen(wanted)) != NULL;
}

const struct lock_service lock_service_etcd = {
    .name = "etcd (JSON gateway)",
    .program = "etcd",
    .start = start_etcd,
    .protocol = {load_http_reply_size, expect_etcd},
    .step_count = 2,
    .request = request_etcd,
};

/* The same in etcd's own protocol. */
static void request_etcd_grpc(const void *context, size_t number, size_t step,
                              struct load_request *ret_request) {
    struct lk_buffer message = {.max = LOAD_REQUEST_BYTES};
    char key[16];

    (void)context;
    (void)snprintf(key, sizeof key, "k%05zu", number % 100000);
    if (step == 0) {
        lk_etcd_add_compare(&message, key, 0);
        lk_etcd_add_put(&message, key, lk_slice_of("owner"));
        grpc_load_render(ret_request, "/etcdserverpb.KV/Txn", &message);
    } else {
        lk_protobuf_add_text(&message, 1, key);
        grpc_load_render(ret_request, "/etcdserverpb.KV/DeleteRange", &message);
    }
    lk_buffer_done(&message);
}

/* Both answers say by the number 1 in their second field that they have done it. */
static bool expect_etcd_grpc(size_t step, const char *reply, size_t size) {
    (void)step;
    return memmem(reply, size, "\x10\x01", 2) != NULL;
}

const struct lock_service lock_service_etcd_grpc = {
    .name = "etcd (gRPC)",
    .program = "etcd",
    .start = start_etcd,
    .protocol = {grpc_load_reply_size, expect_etcd_grpc, grpc_load_renew},
    .step_count = 2,
    .request = request_etcd_grpc,
};

/* ---- etcd's locks ---------------------------------------------------------------------------- */

enum { LEASE = 7, LEASE_S = 86400 };

void lock_service_etcd_grant(const struct peer *etcd) {
    enum { PATIENCE_US = 5000000 };
    struct lk_etcd_client *client = NULL;
    struct lk_buffer message = {.max = 0};
    struct lk_slice answer;
    lk_error error = {.text = "memory is exhausted"};
    char url[64];

    (void)snprintf(url, sizeof url, "etcd://127.0.0.1:%d", etcd->port);
    lk_protobuf_add_number(&message, 1, LEASE_S);
    lk_protobuf_add_number(&message, 2, LEASE);
    if (message.failed || lk_etcd_client_new(url, PATIENCE_US, &client, &error) != LK_OK
        || lk_etcd_call(client, "/etcdserverpb.Lease/LeaseGrant",
                        (struct lk_slice){message.bytes, message.size}, NULL, &answer, &error)
               != LK_OK) {
        bench_give_up("no lease of etcd's: %s", error.text);
    }
    lk_buffer_done(&message);
    lk_etcd_client_free(client);
}

/* A lock's key is its name, a slash, and the lease of the holder. */
static void request_etcd_locks(const void *context, size_t number, size_t step,
                               struct load_request *ret_request) {
    struct lk_buffer message = {.max = LOAD_REQUEST_BYTES};
    char name[24];

    (void)context;
    (void)snprintf(name, sizeof name, step == 0 ? "lock%05zu" : "lock%05zu/%x", number % 100000,
                   LEASE);
    lk_protobuf_add_text(&message, 1, name);
    if (step == 0) {
        lk_protobuf_add_number(&message, 2, LEASE);
    }
    grpc_load_render(ret_request, step == 0 ? "/v3lockpb.Lock/Lock" : "/v3lockpb.Lock/Unlock",
                     &message);
    lk_buffer_done(&message);
}

static bool expect_etcd_locks(size_t step, const char *reply, size_t size) {
    return grpc_load_has_message(reply, size)
           && (step == 1 || memmem(reply, size, "/7", 2) != NULL);
}

const struct lock_service lock_service_etcd_locks = {
    .name = "etcd's locks (gRPC)",
    .program = "etcd",
    .start = start_etcd,
    .protocol = {grpc_load_reply_size, expect_etcd_locks, grpc_load_renew},
    .step_count = 2,
    .request = request_etcd_locks,
};

/* ---- ZooKeeper ------------------------------------------------------------------------------- */

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
    .start = start_zookeeper,
    .protocol = {zookeeper_reply_size, expect_zookeeper},
    .has_prelude = true,
    .step_count = 2,
    .request = request_zookeeper,
};

struct side lock_service_side(const struct lock_service *lock_service, const char *folder) {
    return lock_service_side_of(lock_service, lock_service->start(folder));
}

struct side lock_service_side_of(const struct lock_service *lock_service, struct peer peer) {
    struct side side = side_of(lock_service->name, peer, &lock_service->protocol);

    side.load.has_prelude = lock_service->has_prelude;
    side.load.step_count = lock_service->step_count;
    side.load.request = lock_service->request;
    return side;
}

bool lock_service_is_there(const struct lock_service *lock_service,
                           char ret_why[BENCH_TEXT_BYTES]) {
    if (!peer_is_installed(lock_service->program)) {
        (void)snprintf(ret_why, BENCH_TEXT_BYTES, "%s is not installed", lock_service->program);
        return false;
    }
    if (lock_service->file != NULL && access(lock_service->file, R_OK) != 0) {
        (void)snprintf(ret_why, BENCH_TEXT_BYTES, "%s is not there", lock_service->file);
        return false;
    }
    return true;
}
