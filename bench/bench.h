/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks share: a clock, random numbers, and a table of figures beside their bars. */
#ifndef LK_BENCH_H
#define LK_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int64_t bench_now_ns(void);

/*
 * Processor time of this process: what a loop that never sleeps costs, whatever else the machine
 * does. Reading it costs more than a short step does; there bench_now_ns() and a median tell more.
 */
int64_t bench_processor_ns(void);

/* Resident memory of this process. */
uint64_t bench_resident_bytes(void);

/* Deterministic random numbers (splitmix64): the same figures can be had again. */
uint64_t bench_random(uint64_t *state);

/* One line about the machine and the build, so that a figure is never read alone. */
void bench_machine_print(void);

/* Prints a line of progress on stderr. */
void bench_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

void bench_title_print(const char *title);

/* A figure that has no bar. */
void bench_figure_print(const char *what, double got, const char *unit);

/* A figure with its bar, and whether it is met. */
void bench_at_most_print(const char *what, double got, double bar, const char *unit);
void bench_at_least_print(const char *what, double got, double bar, const char *unit);

/* The middle of `count` figures, which are put in order. */
double bench_median(double *figures, size_t count);

double bench_least(const double *figures, size_t count);

/* Ends the program with a sentence: a benchmark that cannot go on has nothing to say. */
_Noreturn void bench_give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
