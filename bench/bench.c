/* SPDX-License-Identifier: Apache-2.0 */
/* Clock, tables and the machine's name for the benchmarks. */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

int64_t bench_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t bench_processor_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
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

void bench_machine_print(void) {
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

void bench_progress(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("  ... ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

void bench_title_print(const char *title) {
    printf("\n%-64s %12s %-10s %12s\n", title, "got", "", "bar");
}

/* As many digits as are significant. */
static void row_print(const char *what, double got, const char *unit) {
    int digits = got < 10 ? 2 : got < 100 ? 1 : 0;
    printf("  %-62s %12.*f %-10s", what, digits, got, unit);
}

void bench_figure_print(const char *what, double got, const char *unit) {
    row_print(what, got, unit);
    putchar('\n');
    fflush(stdout);
}

void bench_at_most_print(const char *what, double got, double bar, const char *unit) {
    row_print(what, got, unit);
    printf("   <= %7.2f  %s\n", bar, got <= bar ? "met" : "MISSED");
    fflush(stdout);
}

void bench_at_least_print(const char *what, double got, double bar, const char *unit) {
    row_print(what, got, unit);
    printf("   >= %7.2f  %s\n", bar, got >= bar ? "met" : "MISSED");
    fflush(stdout);
}

static int compare_figures(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

double bench_median(double *figures, size_t count) {
    qsort(figures, count, sizeof *figures, compare_figures);
    return figures[count / 2];
}

double bench_least(const double *figures, size_t count) {
    double least = figures[0];
    for (size_t i = 1; i < count; i++) {
        least = figures[i] < least ? figures[i] : least;
    }
    return least;
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
