/* What every fuzz target shares. A target is one function over bytes and its sound examples; the
 * harness runs it under libFuzzer, or replays files and changed examples (replay.c).
 *
 * Every input runs as it is, and again with one allocation of it failing: all of them when they are
 * replayed, one in FUZZ_FAULT_EVERY (cmake/fuzz.cmake) under libFuzzer, which is to see many. After
 * both no block may be left. */
#ifndef HU_FUZZ_H
#define HU_FUZZ_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

#include "base/bytes.h"

/* Of the target: one input, and sound example number index; false after the last. */
void fuzz_one(const uint8_t *data, size_t size);
bool fuzz_seed(size_t index, hu_byte_writer *seed);

/* Of the harness. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Writes every example into a file of a directory that exists. */
void fuzz_write_seeds(const char *directory);

/* Says what does not hold and for which input, and aborts. */
_Noreturn void fuzz_fail(const char *file, int line, const char *what);

#define FUZZ_CHECK(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))

/* For a call that cannot fail but for the allocation that was made to: whether it went well. */
#define FUZZ_DONE(expression) fuzz_done(__FILE__, __LINE__, #expression, (expression))
bool fuzz_done(const char *file, int line, const char *what, hu_status st);

/* Whether st is the failure of an allocation that was made to fail. */
bool fuzz_was_fault(hu_status st);

/* Whether the input is one of every n, by its hash: for checks that take as long as n others.
 * Replays, which see few inputs, make more of them. */
bool fuzz_is_one_of(uint64_t n);

/* The bytes and a final zero in a block of their own (so that reading after it is seen); free with
 * free. */
char *fuzz_text(const uint8_t *data, size_t size);

/* seed becomes the text without its final zero. Always true. */
bool fuzz_text_seed(const char *text, hu_byte_writer *seed);

/* A folder of this process that goes away with it. */
const char *fuzz_folder(void);

/* Writes a file of that folder. */
void fuzz_put(const char *name, const void *data, size_t bytes);

/* The same for a file that nobody else writes: one that holds the bytes already stays as it is. Of
 * FUZZ_KEPT_MOST names at most. */
enum { FUZZ_KEPT_MOST = 8 };
void fuzz_keep(const char *name, const void *data, size_t bytes);

/* Bytes taken one after the other from an input; zeros after its end. */
typedef struct fuzz_cursor {
    const uint8_t *data;
    size_t size, offset;
} fuzz_cursor;

static inline uint8_t fuzz_u8(fuzz_cursor *cursor) {
    return cursor->offset < cursor->size ? cursor->data[cursor->offset++] : 0;
}

static inline uint16_t fuzz_u16(fuzz_cursor *cursor) {
    unsigned low = fuzz_u8(cursor);
    return (uint16_t)(low | (unsigned)fuzz_u8(cursor) << 8);
}

/* At most so many of the bytes that are left, in place; *bytes is then how many there are. */
static inline const uint8_t *fuzz_take(fuzz_cursor *cursor, size_t *bytes) {
    const uint8_t *start = cursor->data + cursor->offset;
    size_t left = cursor->size - cursor->offset;
    if (*bytes > left) *bytes = left;
    cursor->offset += *bytes;
    return start;
}
#endif
