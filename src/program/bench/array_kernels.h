/* bench/array_kernels.h - passes over arrays that take turns with memcpy of the same elements. */
#ifndef HU_BENCH_ARRAY_KERNELS_H
#define HU_BENCH_ARRAY_KERNELS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/bench.h"
#include "kernel/pack/pack.h"
#include "kernel/round/round.h"
#include "kernel/uniform/uniform.h"
#include "kernel/wire/wire.h"

enum { HU_RATE_ROWS = 64, HU_RATE_FORMAT_BYTES = 64, HU_RATE_COPIES = 4 };

/* What an array holds: numbers; random bits, which are numbers of all exponents and any codes; the
 * codes of the numbers as the row's packer makes them; or those of its wire, then in both arrays.
 */
typedef enum hu_rate_data {
    HU_RATE_GAUSSIAN,
    HU_RATE_BITS,
    HU_RATE_PACKED,
    HU_RATE_CODES
} hu_rate_data;

typedef struct hu_rate_row hu_rate_row;

/* Elements first .. first+n-1: from x (floats, or codes) to y. */
typedef void hu_rate_pass(const hu_rate_row *row, size_t first, size_t n, const void *x, void *y);

struct hu_rate_row {
    hu_rate_pass *pass;
    char format[HU_RATE_FORMAT_BYTES];
    char mode[16]; /* "rne", "pack8", "range", ... */
    hu_rate_data data;
    bool has_counters;
    hu_rounder rounder;
    hu_packer packer;
    hu_wire wire;
    hu_uniformer uniformer; /* of one element: passes set the length */
    hu_uniform_scale uniform_scale;
    int32_t scale;       /* k of the wire's codes */
    size_t copied_bytes; /* of an element, by the memcpy that the row stands beside: 1, 2 or 4 */
    hu_bench_times times;
};

/* One size of array and all that is measured with it. */
typedef struct hu_rate_set {
    size_t elements;
    int threads;
    hu_bench_times copies[HU_RATE_COPIES + 1]; /* by bytes of an element; none: not measured */
    int count;
    hu_rate_row rows[HU_RATE_ROWS];
} hu_rate_set;

/* The next row of a set, all zero but for copied_bytes, those of a float32. HU_ERR_INTERNAL if
 * there is no place. */
hu_status hu_rate_add_row(hu_rate_set *set, hu_rate_row **row);

/* Adds the rows of a format; is_first: of the first one, or of the only one. */
typedef hu_status hu_rate_format(hu_rate_set *set, const char *format, bool is_first);

/* What a kernel measures. */
typedef struct hu_rate_request {
    const char *kernel;
    const char *const *formats; /* NULL at the end */
    size_t memory_elements;     /* of arrays too large for the caches */
    hu_rate_format *add;
} hu_rate_request;
enum { HU_RATE_MEMORY_ELEMENTS = 1 << 26 };

/* Measures the rows of format=, or of the request's formats, and prints them. elements=
 * chooses one size; else arrays of 4,096 and of memory_elements are measured. */
hu_status hu_rate_bench(hu_bench *bench, const hu_rate_request *request);

/* ---- Uniform integers as rows of kernel=round and kernel=pack ---- */

/* True if the text names uniform integers. */
bool hu_bench_is_uniform(const char *name);

/* Rows of finding a range and of rounding in it. Errors as hu_quantizer_parse. */
hu_status hu_bench_round_uniform(hu_rate_set *set, const char *name);

/* Rows of rounding into codes, and of the way back. */
hu_status hu_bench_pack_uniform(hu_rate_set *set, const char *name);

#endif
