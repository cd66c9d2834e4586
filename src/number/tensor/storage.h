/* tensor/storage.h - how the numbers of a tensor are kept: one trait row per storage, nothing else
 * knows. */
#ifndef HU_TENSOR_STORAGE_H
#define HU_TENSOR_STORAGE_H
#include <stddef.h>

#include "kernel/block/block.h"
#include "kernel/encode/encode.h"
#include "kernel/pack/pack.h"
#include "kernel/uniform/uniform.h"

/* What the user asks for: packed = the narrowest of 8, 16, 32 bits; dense = exactly 1+e+m bits;
 * float32 = carriers. */
typedef enum hu_storage_mode {
    HU_STORAGE_PACKED,
    HU_STORAGE_FLOAT32,
    HU_STORAGE_DENSE
} hu_storage_mode;

typedef struct hu_storage_trait {
    const char *name; /* "float32", "16 bit", "8 bit", "dense", "blocks",
                         "uniform" */
    int code_bits;    /* of hu_pack; 0 = dense */
    int is_float32;
} hu_storage_trait;

/* The storage of one tensor: packs and unpacks runs of elements ("rows") that begin at byte
 * boundaries. */
typedef struct hu_storage {
    const hu_storage_trait *trait;
    hu_packer packer;
    hu_format format;          /* of the codes: hu_storage_format */
    const hu_blocker *blocker; /* of block formats, else NULL. Borrowed: valid as long as this */
    float tensor_scale;        /* of block formats */
    const hu_uniformer *uniformer; /* of uniform integers, else NULL. Borrowed, as the blocker */
    const hu_uniform_scale *scale; /* theirs, set by who finds their range; may change while
                                      nothing is read. Borrowed: valid as long as this */
    int64_t row_elements;
    size_t row_bytes;
} hu_storage;

/* "packed", "float32", "dense" -> mode; HU_ERR_UNKNOWN lists them. */
hu_status hu_storage_mode_parse(const char *text, hu_storage_mode *mode);

/* The format of the codes of a format's numbers: itself, but where infinities live on that it has
 * no code for (nan=ovf with ovf=inf) a wider one that has all its numbers, and them. */
hu_format hu_storage_format(const hu_format *format);

/* Storage for rows of row_elements elements; format NULL: numbers that are on no grid, kept in
 * float32. HU_ERR_SHAPE if a row does not fit the address space; HU_ERR_FORMAT. */
hu_status hu_storage_choose(hu_storage_mode mode, const hu_format *format, int64_t row_elements,
                            hu_storage *storage);

/* Storage for rows that the blocker rounds: its bytes, or float32. hu_storage_write cannot write
 * packed blocks: hu_blocker_pack does, which rounds and packs at once. */
void hu_storage_choose_blocks(hu_storage_mode mode, const hu_blocker *blocker, hu_storage *storage);

/* Storage for rows that the uniformer rounds: its dense bytes, or float32 carriers. The caller sets
 * ->scale before anything is read. hu_storage_write cannot write packed ones: hu_uniform_pack
 * does. */
void hu_storage_choose_uniform(hu_storage_mode mode, const hu_uniformer *uniformer,
                               hu_storage *storage);

/* Another format with as many bits: the scale of the tensor has changed. format must be valid. */
void hu_storage_set_format(hu_storage *storage, const hu_format *format);

/* True if rows are packed blocks. */
static inline int hu_storage_is_blocks(const hu_storage *storage) {
    return storage->blocker && !storage->trait->is_float32;
}

/* True if rows are packed uniform integers. */
static inline int hu_storage_is_uniform(const hu_storage *storage) {
    return storage->uniformer && !storage->trait->is_float32;
}

/* Bytes of a number of rows. */
size_t hu_storage_bytes(const hu_storage *storage, int64_t rows);

/* Writes rows first .. first+rows-1 from x. x may already be their place (float32), then nothing is
 * done. */
void hu_storage_write(const hu_storage *storage, void *data, int64_t first, int64_t rows,
                      const float *x);

/* True if rows are codes of a number format. */
static inline int hu_storage_is_coded(const hu_storage *storage) {
    return !storage->blocker && !storage->uniformer && !storage->trait->is_float32;
}

/* Rounds rows first .. first+rows-1 from x to y, counts, and writes them as codes, in one pass
 * (kernel/encode/encode.h); key, first_index, counts as there. Only coded storage. */
void hu_storage_encode(const hu_storage *storage, const hu_rounder *rounder, void *data,
                       int64_t first, int64_t rows, const float *x, float *y,
                       const hu_random_key *key, uint64_t first_index, hu_round_counts *counts);

/* The same of numbers that the rounder leaves as they are. */
void hu_storage_encode_on_grid(const hu_storage *storage, const hu_rounder *rounder, void *data,
                               int64_t first, int64_t rows, const float *x,
                               hu_round_counts *counts);

/* Gives rows first .. first+rows-1: a pointer into data for float32, else unpacked into scratch. */
const float *hu_storage_read(const hu_storage *storage, const void *data, int64_t first,
                             int64_t rows, float *scratch);

/* The same for elements first .. first+count-1 of row 0; first must be a multiple of 8. */
void hu_storage_write_part(const hu_storage *storage, void *data, int64_t first, int64_t count,
                           const float *x);
const float *hu_storage_read_part(const hu_storage *storage, const void *data, int64_t first,
                                  int64_t count, float *scratch);

/* Where rows can be computed in place, or NULL if the storage is packed. */
float *hu_storage_in_place(const hu_storage *storage, void *data, int64_t first);

#endif
