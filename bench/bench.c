/* SPDX-License-Identifier: Apache-2.0 */
/* Clock, rounds in turn, and the rows of the table. */
#include "bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum {
    ROUNDS_LEAST = 7,
    ROUNDS_SHORT = 3,
    SMOKE_ROUND_MS = 20,
    SHORT_SHARE = 4,
    EMPTY_ROUNDS_MAX = 100
};

/* What the quartiles of a ratio may be apart, as a share of its median. */
#define SPREAD_MAX 0.1

static const char columns[] =
    "program,section,what,size,unit,ours,ours_low,ours_high,peer,theirs,theirs_low,theirs_high,"
    "ratio,ratio_low,ratio_high,bar_kind,bar,holds,rounds,missing\n";

static const char *program_name = "bench";
static char section[BENCH_TEXT_BYTES];

/* A middle and its quartiles. */
struct spread {
    double middle;
    double low;
    double high;
};

struct row {
    const char *what;
    const char *unit;
    uint64_t size; /* 0: no point of a chart */
    struct spread ours;
    const char *peer; /* NULL: none */
    struct spread theirs;
    struct spread ratio;
    const char *bar_kind; /* NULL: no bar */
    double bar;
    bool holds;
    size_t rounds;
    const char *missing; /* NULL: measured */
};

/* ---- clock, memory, random ------------------------------------------------------------------- */

static int64_t clock_ns(clockid_t clock) {
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t bench_now_ns(void) {
    return clock_ns(CLOCK_MONOTONIC);
}

int64_t bench_processor_ns(void) {
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t bench_resident_bytes(void) {
    unsigned long pages = 0;
    FILE *in = fopen("/proc/self/statm", "r");
    if (in == NULL || fscanf(in, "%*u %lu", &pages) != 1) {
        bench_give_up("/proc/self/statm cannot be read");
    }
    fclose(in);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t bench_random(uint64_t *state) {
    uint64_t mixed = (*state += UINT64_C(0x9e3779b97f4a7c15));
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

/* ---- how much is measured -------------------------------------------------------------------- */

static bool depth_is(const char *name) {
    const char *depth = getenv("LK_BENCH");

    return depth != NULL && strcmp(depth, name) == 0;
}

bool bench_is_smoke(void) {
    return depth_is("smoke");
}

bool bench_is_short(void) {
    return depth_is("short");
}

int64_t bench_round_ns(int64_t full_ms) {
    int64_t ms = full_ms;

    if (bench_is_smoke()) {
        ms = full_ms < SMOKE_ROUND_MS ? full_ms : SMOKE_ROUND_MS;
    } else if (bench_is_short()) {
        ms = full_ms / SHORT_SHARE;
    }
    return ms * 1000000;
}

size_t bench_count(size_t full, size_t few) {
    return bench_is_smoke() ? few : full;
}

size_t bench_amount(size_t full, size_t few) {
    return bench_is_short() ? full / 10 : bench_count(full, few);
}

static size_t rounds_least(void) {
    return bench_is_smoke() ? 1 : bench_is_short() ? ROUNDS_SHORT : ROUNDS_LEAST;
}

static size_t rounds_most(void) {
    return bench_is_smoke() ? 1 : bench_is_short() ? ROUNDS_SHORT : BENCH_ROUNDS_MAX;
}

/* ---- figures --------------------------------------------------------------------------------- */

static int compare_figures(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

double bench_median(double *figures, size_t count) {
    qsort(figures, count, sizeof *figures, compare_figures);
    return figures[count / 2];
}

double bench_quantile(const double *ordered, size_t count, double share) {
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    size_t above = below + 1 < count ? below + 1 : below;

    return ordered[below] + (place - (double)below) * (ordered[above] - ordered[below]);
}

static struct spread spread_of(double *figures, size_t count) {
    double middle = bench_median(figures, count);

    return (struct spread){.middle = middle,
                           .low = bench_quantile(figures, count, 0.25),
                           .high = bench_quantile(figures, count, 0.75)};
}

static struct spread spread_of_copy(const double *figures, size_t count) {
    double copy[BENCH_ROUNDS_MAX];

    memcpy(copy, figures, count * sizeof copy[0]);
    return spread_of(copy, count);
}

/* ---- a row as comma-separated values --------------------------------------------------------- */

static void put_text(FILE *out, const char *text) {
    fputc('"', out);
    for (const char *at = text != NULL ? text : ""; *at != '\0'; at++) {
        if (*at == '"') {
            fputc('"', out);
        }
        fputc(*at == '\n' ? ' ' : *at, out);
    }
    fputc('"', out);
}

static void put_spread(FILE *out, const struct spread *spread, bool is_there) {
    if (is_there) {
        fprintf(out, "%.6g,%.6g,%.6g,", spread->middle, spread->low, spread->high);
    } else {
        fputs(",,,", out);
    }
}

static void row_write(const struct row *row) {
    const char *path = getenv("LK_BENCH_CSV");
    FILE *out = path != NULL ? fopen(path, "ae") : NULL;

    if (path == NULL) {
        return;
    }
    if (out == NULL) {
        bench_give_up("%s cannot be written", path);
    }
    if (ftell(out) == 0) {
        fputs(columns, out);
    }
    put_text(out, program_name);
    fputc(',', out);
    put_text(out, section);
    fputc(',', out);
    put_text(out, row->what);
    fputc(',', out);
    if (row->size != 0) {
        fprintf(out, "%llu", (unsigned long long)row->size);
    }
    fputc(',', out);
    put_text(out, row->unit);
    fputc(',', out);
    put_spread(out, &row->ours, row->missing == NULL);
    put_text(out, row->peer);
    fputc(',', out);
    put_spread(out, &row->theirs, row->missing == NULL && row->peer != NULL);
    put_spread(out, &row->ratio, row->missing == NULL && row->peer != NULL);
    if (row->bar_kind != NULL) {
        fprintf(out, "%s,%.6g,%s,", row->bar_kind, row->bar, row->holds ? "yes" : "no");
    } else {
        fputs(",,,", out);
    }
    fprintf(out, "%zu,", row->rounds);
    put_text(out, row->missing);
    fputc('\n', out);
    if (fclose(out) != 0) {
        bench_give_up("%s cannot be written", path);
    }
}

/* ---- a row as a line of the table ------------------------------------------------------------ */

static void number_print(double number, int width) {
    double size = fabs(number);

    printf(" %*.*f", width, size < 10 ? 2 : size < 100 ? 1 : 0, number);
}

static void row_print(const struct row *row) {
    char what[BENCH_TEXT_BYTES];

    if (row->size != 0) {
        snprintf(what, sizeof what, "%s, %llu", row->what, (unsigned long long)row->size);
    } else {
        snprintf(what, sizeof what, "%s", row->what);
    }
    printf("  %-52s", what);
    if (row->missing != NULL) {
        printf(" beside %s: not measured: %s\n", row->peer, row->missing);
        fflush(stdout);
        row_write(row);
        return;
    }
    number_print(row->ours.middle, 10);
    printf(" %-8s", row->unit);
    if (row->peer != NULL) {
        number_print(row->theirs.middle, 10);
        printf("  %-30s", row->peer);
        number_print(row->ratio.middle, 6);
        printf(" (%.2f-%.2f)", row->ratio.low, row->ratio.high);
    }
    if (row->bar_kind != NULL) {
        printf("  %s %.4g: %s", row->bar_kind, row->bar, row->holds ? "holds" : "MISSED");
    }
    putchar('\n');
    fflush(stdout);
    row_write(row);
}

static struct spread alone(double figure) {
    return (struct spread){.middle = figure, .low = figure, .high = figure};
}

void bench_figure_print(const char *what, double got, const char *unit) {
    row_print(&(struct row){.what = what, .unit = unit, .ours = alone(got), .rounds = 1});
}

static void bar_print(const char *what, struct spread got, size_t rounds, const char *kind,
                      double bar, bool holds, const char *unit) {
    row_print(&(struct row){.what = what,
                            .unit = unit,
                            .ours = got,
                            .bar_kind = kind,
                            .bar = bar,
                            .holds = holds,
                            .rounds = rounds});
}

void bench_at_most_print(const char *what, double got, double bar, const char *unit) {
    bar_print(what, alone(got), 1, "at most", bar, got <= bar, unit);
}

void bench_at_least_print(const char *what, double got, double bar, const char *unit) {
    bar_print(what, alone(got), 1, "at least", bar, got >= bar, unit);
}

void bench_samples_print(const char *what, double *got, size_t count, double bar,
                         const char *unit) {
    struct spread spread = spread_of(got, count);

    bar_print(what, spread, count, bar > 0 ? "at most" : NULL, bar, spread.middle <= bar, unit);
}

void bench_point_print(const char *line, uint64_t size, double *got, size_t count,
                       const char *unit) {
    row_print(&(struct row){
        .what = line, .size = size, .unit = unit, .ours = spread_of(got, count), .rounds = count});
}

void bench_growth_print(const char *what, double growth, double bar) {
    bench_at_most_print(what, growth, bar, "times");
}

void bench_missing_print(const char *what, const char *peer, const char *why) {
    row_print(&(struct row){.what = what, .peer = peer, .missing = why});
    bench_progress("%s: %s is not measured: %s", what, peer, why);
}

/* ---- comparisons ----------------------------------------------------------------------------- */

static double ratio_of(bool is_cost, double ours, double theirs) {
    return is_cost ? theirs / ours : ours / theirs;
}

void bench_comparison_print(const struct bench_comparison *comparison) {
    double ratios[BENCH_ROUNDS_MAX];
    size_t count = comparison->count;
    struct row row = {.what = comparison->what,
                      .unit = comparison->unit,
                      .ours = spread_of_copy(comparison->ours, count),
                      .peer = comparison->peer,
                      .theirs = spread_of_copy(comparison->theirs, count),
                      .rounds = count};

    for (size_t i = 0; i < count; i++) {
        ratios[i] = ratio_of(comparison->is_cost, comparison->ours[i], comparison->theirs[i]);
    }
    row.ratio = spread_of(ratios, count);
    if (comparison->bar > 0) {
        row.bar_kind = "at least";
        row.bar = comparison->bar;
        row.holds = row.ratio.middle >= comparison->bar;
    }
    row_print(&row);
    if (comparison->own_bar > 0) {
        char what[BENCH_TEXT_BYTES];
        bool is_cost = comparison->is_cost;

        snprintf(what, sizeof what, "%.120s: beside its own bar", comparison->what);
        bar_print(what, row.ours, count, is_cost ? "at most" : "at least", comparison->own_bar,
                  is_cost ? row.ours.middle <= comparison->own_bar
                          : row.ours.middle >= comparison->own_bar,
                  comparison->unit);
    }
}

static bool is_steady(bool is_cost, const double *ours, const double *theirs, size_t count) {
    double ratios[BENCH_ROUNDS_MAX];
    struct spread spread;

    for (size_t i = 0; i < count; i++) {
        ratios[i] = ratio_of(is_cost, ours[i], theirs[i]);
    }
    spread = spread_of(ratios, count);
    return spread.high - spread.low <= SPREAD_MAX * spread.middle;
}

double bench_play(const char *what, bench_side *side, void *context) {
    for (int again = 0; again < EMPTY_ROUNDS_MAX; again++) {
        double figure = side(context);
        if (figure > 0) {
            return figure;
        }
        bench_progress("nothing was finished in a round, which is played again");
    }
    bench_give_up("%s: nothing was finished in %d rounds", what, EMPTY_ROUNDS_MAX);
}

void bench_duel(const struct bench_duel *duel) {
    double ours[BENCH_ROUNDS_MAX];
    double theirs[BENCH_ROUNDS_MAX];
    size_t count = 0;

    bench_progress("%s, beside %s", duel->what, duel->peer);
    if (!bench_is_smoke()) {
        (void)duel->ours(duel->context);
        (void)duel->theirs(duel->context);
    }
    while (count < rounds_most()
           && (count < rounds_least() || !is_steady(duel->is_cost, ours, theirs, count))) {
        if (count % 2 == 0) {
            ours[count] = bench_play(duel->what, duel->ours, duel->context);
            theirs[count] = bench_play(duel->what, duel->theirs, duel->context);
        } else {
            theirs[count] = bench_play(duel->what, duel->theirs, duel->context);
            ours[count] = bench_play(duel->what, duel->ours, duel->context);
        }
        count++;
    }
    bench_comparison_print(&(struct bench_comparison){.what = duel->what,
                                                      .peer = duel->peer,
                                                      .unit = duel->unit,
                                                      .is_cost = duel->is_cost,
                                                      .bar = duel->bar,
                                                      .own_bar = duel->own_bar,
                                                      .ours = ours,
                                                      .theirs = theirs,
                                                      .count = count});
}

/* ---- the program ----------------------------------------------------------------------------- */

static void machine_print(void) {
    char processor[128] = "unknown processor";
    char line[256];
    struct utsname system;
    FILE *in = fopen("/proc/cpuinfo", "r");
    while (in != NULL && fgets(line, sizeof line, in) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            snprintf(processor, sizeof processor, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
            break;
        }
    }
    if (in != NULL) {
        fclose(in);
    }
    uname(&system);
    printf("machine: %s, %ld cores, %ld MiB; %s %s; %s\n", processor, sysconf(_SC_NPROCESSORS_ONLN),
           sysconf(_SC_PHYS_PAGES) / 1024 * (sysconf(_SC_PAGESIZE) / 1024), system.sysname,
           system.release,
#ifdef __OPTIMIZE__
           "optimised, compiler " __VERSION__
#else
           "NOT OPTIMISED, compiler " __VERSION__
#endif
    );
}

void bench_begin(const char *program, const char *title) {
    program_name = program;
    printf("%s\n", title);
    machine_print();
    fflush(stdout);
}

void bench_title_print(const char *title) {
    if (strcmp(section, title) == 0) {
        return;
    }
    snprintf(section, sizeof section, "%s", title);
    printf("\n%s\n", title);
    fflush(stdout);
}

void bench_progress(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("  ... ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

void bench_give_up(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}
