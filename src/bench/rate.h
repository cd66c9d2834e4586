/* bench/rate.h - passes over arrays that take turns with memcpy of the same elements. */
#ifndef HU_BENCH_RATE_H
#define HU_BENCH_RATE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "kernel/pack/pack.h"
#include "kernel/round/round.h"

enum { HU_RATE_ROWS = 64, HU_RATE_FORMAT_BYTES = 64 };

/* What an array holds: numbers, or random bits, which are numbers of all exponents and any codes.
 */
typedef enum hu_rate_data { HU_RATE_GAUSSIAN, HU_RATE_BITS } hu_rate_data;

typedef struct hu_rate_row hu_rate_row;

/* Elements first .. first+n-1: from x (floats, or codes) to y. */
typedef void hu_rate_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y);

struct hu_rate_row {
    hu_rate_pass *pass;
    char format[HU_RATE_FORMAT_BYTES];
    char mode[16]; /* "rne", "pack8", ... */
    hu_rate_data data;
    bool has_counters;
    hu_rounder rounder;
    hu_packer packer;
    double best_seconds;
};

/* One size of array and all that is measured with it. */
typedef struct hu_rate_set {
    size_t elements;
    int threads;
    int64_t repeat; /* turns, of which the best counts */
    double memcpy_seconds;
    int count;
    hu_rate_row rows[HU_RATE_ROWS];
} hu_rate_set;

/* The next row of a set, all zero. HU_ERR_INTERNAL if there is no place. */
hu_status hu_rate_add_row(hu_rate_set *set, hu_rate_row **row);

/* Adds the rows of a format; is_first: of the first one, or of the only one. */
typedef hu_status hu_rate_format(hu_rate_set *set, const char *format, bool is_first);

/* Measures the rows of format=, or of the usual formats, and prints them. elements=, threads= and
 * repeat= choose one size; else arrays of 4,096 and of 64 Mi elements are measured. */
hu_status hu_rate_bench(const hu_config *config, const char *kernel, hu_rate_format *add);

#endif
