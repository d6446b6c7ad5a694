/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the module lockkeeper_canal: terms to calls of region.h, and outcomes to terms.
 *
 * acquire() runs on its scheduler, and continues on a dirty one where the permits of dead holders
 * have to be given back first. All that opens, closes or walks a region is dirty. The module
 * lockkeeper_canal has made a key of 1 to 64 bytes of any term; arguments are checked here all the
 * same.
 */
#include <stdio.h>
#include <string.h>

#include "region.h"

enum { OPTION_COUNT = 6, ARGUMENTS_MAX = 4, SLICE_PERCENT = 1 /* 10 us of a scheduler's time */ };

/* A resource object: what Erlang code has of a region. */
struct handle {
    struct region *region;
};

static ErlNifResourceType *handle_type;
static ERL_NIF_TERM atom_ok;
static ERL_NIF_TERM atom_error;
static ERL_NIF_TERM atom_acquired;
static ERL_NIF_TERM atom_full;
static ERL_NIF_TERM atom_true;
static ERL_NIF_TERM atom_false;

/* ---- terms ----------------------------------------------------------------------------------- */

static ERL_NIF_TERM reason_of(ErlNifEnv *env, int outcome) {
    char name[32];

    switch (outcome) {
    case REGION_CLOSED:
        return enif_make_atom(env, "closed");
    case REGION_NO_MEMORY:
        return enif_make_atom(env, "no_memory");
    case REGION_NO_PROCESS:
        return enif_make_atom(env, "no_process");
    default:
        break;
    }
    (void)snprintf(name, sizeof name, "%s", lk_canal_status_name((lk_canal_status)outcome));
    for (char *blank = strchr(name, ' '); blank != NULL; blank = strchr(blank, ' ')) {
        *blank = '_';
    }
    return enif_make_atom(env, name);
}

static ERL_NIF_TERM error_of(ErlNifEnv *env, int outcome) {
    return enif_make_tuple2(env, atom_error, reason_of(env, outcome));
}

static ERL_NIF_TERM make_text(ErlNifEnv *env, const char *text) {
    ERL_NIF_TERM term;

    memcpy(enif_make_new_binary(env, strlen(text), &term), text, strlen(text));
    return term;
}

static bool get_region(ErlNifEnv *env, ERL_NIF_TERM term, struct region **ret_region) {
    void *object;

    if (!enif_get_resource(env, term, handle_type, &object)) {
        return false;
    }
    *ret_region = ((struct handle *)object)->region;
    return true;
}

/* Valid until the call returns: the bytes are the term's. */
static bool get_key(ErlNifEnv *env, ERL_NIF_TERM term, struct ask *ret_ask) {
    ErlNifBinary bytes;

    if (!enif_inspect_binary(env, term, &bytes) || bytes.size < 1
        || bytes.size > LK_CANAL_KEY_BYTES_MAX) {
        return false;
    }
    ret_ask->key = (const char *)bytes.data;
    ret_ask->key_size = bytes.size;
    ret_ask->key_hash = (uint32_t)enif_hash(ERL_NIF_INTERNAL_HASH, term, 0);
    return enif_self(env, &ret_ask->process) != NULL;
}

/* A name or label, which ends at no NUL of its own. What is longer than `size` is cut, and refused
 * by the library as too long. */
static bool get_text(ErlNifEnv *env, ERL_NIF_TERM term, char *ret_text, size_t size) {
    ErlNifBinary bytes;
    size_t length;

    if (!enif_inspect_binary(env, term, &bytes) || memchr(bytes.data, 0, bytes.size) != NULL) {
        return false;
    }
    length = bytes.size < size - 1 ? bytes.size : size - 1;
    memcpy(ret_text, bytes.data, length);
    ret_text[length] = '\0';
    return true;
}

static bool get_bool(ERL_NIF_TERM term, bool *ret_value) {
    *ret_value = enif_is_identical(term, atom_true) != 0;
    return *ret_value || enif_is_identical(term, atom_false);
}

/*
 * Continues a call on a dirty scheduler, with a reference to the region and a key of its own. The
 * arguments may be literals, of persistent_term for one, and literals that are erased meanwhile are
 * freed although a call that waits for a dirty scheduler has them (seen with OTP 25.2).
 */
static ERL_NIF_TERM continue_dirty(ErlNifEnv *env, const char *name, int kind,
                                   ERL_NIF_TERM (*function)(ErlNifEnv *, int, const ERL_NIF_TERM[]),
                                   int argc, const ERL_NIF_TERM argv[]) {
    ERL_NIF_TERM own[ARGUMENTS_MAX];
    ErlNifBinary key;
    void *object;

    if (!enif_get_resource(env, argv[0], handle_type, &object)) {
        return enif_make_badarg(env);
    }
    memcpy(own, argv, (size_t)argc * sizeof *own);
    own[0] = enif_make_resource(env, object);
    if (argc > 1 && enif_inspect_binary(env, argv[1], &key)) {
        memcpy(enif_make_new_binary(env, key.size, &own[1]), key.data, key.size);
    }
    return enif_schedule_nif(env, name, kind, function, argc, own);
}

/* ---- permits --------------------------------------------------------------------------------- */

static bool get_ask(ErlNifEnv *env, const ERL_NIF_TERM argv[], struct region **ret_region,
                    struct ask *ret_ask) {
    return get_region(env, argv[0], ret_region) && get_key(env, argv[1], ret_ask)
           && enif_get_uint(env, argv[2], &ret_ask->max_per)
           && enif_get_uint(env, argv[3], &ret_ask->resources);
}

static ERL_NIF_TERM acquired(ErlNifEnv *env, int outcome, uint32_t ordinal) {
    if (outcome == LK_CANAL_OK) {
        return enif_make_tuple2(env, atom_acquired, enif_make_uint(env, ordinal));
    }
    return outcome == LK_CANAL_FULL ? atom_full : error_of(env, outcome);
}

static ERL_NIF_TERM acquire_slowly(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]) {
    struct region *region;
    struct ask ask;
    uint32_t ordinal = 0;
    int outcome;

    (void)argc;
    if (!get_ask(env, argv, &region, &ask)) {
        return enif_make_badarg(env);
    }
    outcome = region_acquire_slowly(region, env, &ask, &ordinal);
    return acquired(env, outcome, ordinal);
}

static ERL_NIF_TERM acquire(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]) {
    struct region *region;
    struct ask ask;
    uint32_t ordinal = 0;
    int outcome;

    if (!get_ask(env, argv, &region, &ask)) {
        return enif_make_badarg(env);
    }
    outcome = region_acquire(region, env, &ask, &ordinal);
    if (outcome == REGION_SLOW) {
        return continue_dirty(env, "acquire", ERL_NIF_DIRTY_JOB_IO_BOUND, acquire_slowly, argc,
                              argv);
    }
    if (outcome == LK_CANAL_FULL) {
        (void)enif_consume_timeslice(env, SLICE_PERCENT); /* it made system calls */
    }
    return acquired(env, outcome, ordinal);
}

static ERL_NIF_TERM release(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]) {
    struct region *region;
    struct ask ask;
    int outcome;

    (void)argc;
    if (!get_region(env, argv[0], &region) || !get_key(env, argv[1], &ask)) {
        return enif_make_badarg(env);
    }
    outcome = region_release(region, &ask);
    return outcome == LK_CANAL_OK ? atom_ok : error_of(env, outcome);
}

static ERL_NIF_TERM count(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]) {
    struct region *region;
    struct ask ask;
    uint32_t held = 0;
    int outcome;

    (void)argc;
    if (!get_region(env, argv[0], &region) || !get_key(env, argv[1], &ask)) {
        return enif_make_badarg(env);
    }
    outcome = region_count(region, &ask, &held);
    return outcome == LK_CANAL_OK ? enif_make_uint(env, held) : error_of(env, outcome);
}

/* ---- regions --------------------------------------------------------------------------------- */

/* {Keys, Holders, Permits, Mode, MustExist, IsShared}, as in canal.h. */
static bool get_options(ErlNifEnv *env, ERL_NIF_TERM term, lk_canal_options *ret_options) {
    const ERL_NIF_TERM *option;
    int arity;

    *ret_options = (lk_canal_options){.size = sizeof *ret_options};
    return enif_get_tuple(env, term, &arity, &option) && arity == OPTION_COUNT
           && enif_get_uint(env, option[0], &ret_options->keys)
           && enif_get_uint(env, option[1], &ret_options->holders)
           && enif_get_uint(env, option[2], &ret_options->permits)
           && enif_get_uint(env, option[3], &ret_options->mode)
           && get_bool(option[4], &ret_options->must_exist)
           && get_bool(option[5], &ret_options->is_shared);
}

static ERL_NIF_TERM open_region(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]) {
    char name[LK_CANAL_NAME_BYTES_MAX + 2];
    char label[LK_CANAL_LABEL_BYTES_MAX + 2];
    char text[LK_CANAL_TEXT_MAX] = "";
    lk_canal_options options;
    struct region *region;
    struct handle *handle;
    ERL_NIF_TERM term;
    int outcome;

    (void)argc;
    if (!get_text(env, argv[0], name, sizeof name) || !get_text(env, argv[1], label, sizeof label)
        || !get_options(env, argv[2], &options)) {
        return enif_make_badarg(env);
    }
    outcome = region_open(name, label, &options, &region, text);
    if (outcome != LK_CANAL_OK) {
        term = enif_make_tuple2(env, reason_of(env, outcome), make_text(env, text));
        return enif_make_tuple2(env, atom_error, term);
    }
    handle = enif_alloc_resource(handle_type, sizeof *handle);
    if (handle == NULL) {
        region_end(region);
        term = enif_make_tuple2(env, reason_of(env, REGION_NO_MEMORY), make_text(env, ""));
        return enif_make_tuple2(env, atom_error, term);
    }
    handle->region = region;
    term = enif_make_resource(env, handle);
    enif_release_resource(handle); /* the term has a reference */
    return enif_make_tuple2(env, atom_ok, term);
}

static ERL_NIF_TERM close_slowly(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]) {
    struct region *region;

    (void)argc;
    if (!get_region(env, argv[0], &region)) {
        return enif_make_badarg(env);
    }
    region_close(region);
    return atom_ok;
}

static ERL_NIF_TERM close_region(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]) {
    return continue_dirty(env, "close", ERL_NIF_DIRTY_JOB_IO_BOUND, close_slowly, argc, argv);
}

static ERL_NIF_TERM remove_region(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]) {
    char name[LK_CANAL_NAME_BYTES_MAX + 2];
    lk_canal_status status;

    (void)argc;
    if (!get_text(env, argv[0], name, sizeof name)) {
        return enif_make_badarg(env);
    }
    status = lk_canal_remove(name);
    return status == LK_CANAL_OK ? atom_ok : error_of(env, (int)status);
}

static ERL_NIF_TERM measure_slowly(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]) {
    static const char *const names[] = {"keys",    "keys_held",     "holders",      "holders_in",
                                        "permits", "permits_taken", "processes_in", "bytes"};
    enum { NAME_COUNT = sizeof names / sizeof *names };
    struct region *region;
    lk_canal_figures figures;
    ERL_NIF_TERM keys[NAME_COUNT];
    ERL_NIF_TERM map;
    int outcome;

    (void)argc;
    if (!get_region(env, argv[0], &region)) {
        return enif_make_badarg(env);
    }
    outcome = region_measure(region, &figures);
    if (outcome != LK_CANAL_OK) {
        return error_of(env, outcome);
    }
    for (size_t i = 0; i < NAME_COUNT; i++) {
        keys[i] = enif_make_atom(env, names[i]);
    }
    ERL_NIF_TERM values[NAME_COUNT] = {
        enif_make_uint(env, figures.keys),         enif_make_uint(env, figures.keys_held),
        enif_make_uint(env, figures.holders),      enif_make_uint(env, figures.holders_in),
        enif_make_uint(env, figures.permits),      enif_make_uint(env, figures.permits_taken),
        enif_make_uint(env, figures.processes_in), enif_make_uint64(env, figures.bytes),
    };
    (void)enif_make_map_from_arrays(env, keys, values, NAME_COUNT, &map);
    return map;
}

static ERL_NIF_TERM measure(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]) {
    return continue_dirty(env, "info", ERL_NIF_DIRTY_JOB_CPU_BOUND, measure_slowly, argc, argv);
}

/* ---- the library ----------------------------------------------------------------------------- */

static void free_handle(ErlNifEnv *env, void *object) {
    (void)env;
    region_end(((struct handle *)object)->region);
}

/*
 * Loaded, or in place of an older one: the objects of that one are taken over, and so are their
 * permits. Where the old library has other types, its objects stay with it, and the runtime keeps
 * it until the last of them is gone.
 */
static int load(ErlNifEnv *env, void **ret_data, ERL_NIF_TERM information) {
    const ErlNifResourceTypeInit calls = {.dtor = free_handle, .members = 1};

    (void)ret_data;
    (void)information;
    atom_ok = enif_make_atom(env, "ok");
    atom_error = enif_make_atom(env, "error");
    atom_acquired = enif_make_atom(env, "acquired");
    atom_full = enif_make_atom(env, "full");
    atom_true = enif_make_atom(env, "true");
    atom_false = enif_make_atom(env, "false");
    handle_type = enif_init_resource_type(env, "lockkeeper_canal_region_1", &calls,
                                          ERL_NIF_RT_CREATE | ERL_NIF_RT_TAKEOVER, NULL);
    return handle_type != NULL && region_types_open(env) ? 0 : 1;
}

static int upgrade(ErlNifEnv *env, void **ret_data, void **old_data, ERL_NIF_TERM information) {
    (void)old_data;
    return load(env, ret_data, information);
}

static ErlNifFunc functions[] = {
    {"acquire_nif", 4, acquire, 0},    {"release_nif", 2, release, 0},
    {"count_nif", 2, count, 0},        {"open_nif", 3, open_region, ERL_NIF_DIRTY_JOB_IO_BOUND},
    {"close_nif", 1, close_region, 0}, {"remove_nif", 1, remove_region, ERL_NIF_DIRTY_JOB_IO_BOUND},
    {"info_nif", 1, measure, 0},
};

ERL_NIF_INIT(lockkeeper_canal, functions, load, NULL, upgrade, NULL)
