#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/checked.h"
#include "base/error.h"

/* Bytes of a cache line, and of an AVX-512 vector. */
enum { ALIGNMENT = 64 };

/* Stands in the 64 bytes in front of every block. */
typedef struct block_header {
    void *start; /* of what calloc gave, or of the mapping */
    size_t bytes;
    size_t mapped; /* bytes of a mapping of its own; 0: calloc's */
    hu_memory_role role;
    bool is_kept; /* no longer counted */
} block_header;

/* Counters of the whole process. Each is atomic by itself; together they are no snapshot. */
static _Atomic uint64_t live_bytes, live_blocks, allocations, peak_bytes, fail_countdown;
static _Atomic uint64_t role_bytes[HU_MEMORY_ROLES];

static _Atomic bool only_counts_now;

void hu_memory_only_counts(bool only_counts) {
    atomic_store(&only_counts_now, only_counts);
}

/* Zeros without touching the pages of large blocks: a plan that never runs stays small. *mapped:
 * bytes of a mapping, 0 of calloc's. NULL: there is no room. */
static char *take_zeros(size_t total, size_t *mapped) {
    enum { LARGE = 1 << 24 };
    *mapped = 0;
    if (total < LARGE || !atomic_load(&only_counts_now)) return calloc(1, total);
    char *start = mmap(NULL, total, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return NULL;
    *mapped = total;
    return start;
}

/* True once, when the countdown ends. */
bool hu_fault_strikes(void) {
    if (atomic_load(&fail_countdown) == 0) return false;
    return atomic_fetch_sub(&fail_countdown, 1) == 1;
}

/* Another thread may raise the peak between the load and the exchange; then the exchange fails,
 * reloads the peak and the comparison is made again. */
static void raise_peak(uint64_t now) {
    uint64_t peak = atomic_load(&peak_bytes);
    while (now > peak && !atomic_compare_exchange_weak(&peak_bytes, &peak, now)) continue;
}

hu_status hu_alloc(size_t bytes, void **block) {
    return hu_alloc_for(HU_MEMORY_BOOKKEEPING, bytes, block);
}

uint64_t hu_memory_live(hu_memory_role role) {
    return atomic_load(&role_bytes[role]);
}

/* Every block has a header in front: where calloc began, how many bytes, in which role. */
static block_header *header_of(void *block) {
    return (block_header *)(void *)((char *)block - ALIGNMENT);
}

void hu_memory_assign(void *block, hu_memory_role role) {
    if (!block) return;
    /* The bytes stay; only their role in the count changes. */
    block_header *header = header_of(block);
    atomic_fetch_sub(&role_bytes[header->role], header->bytes);
    atomic_fetch_add(&role_bytes[role], header->bytes);
    header->role = role;
}

/* What a freed block takes out of the counts. */
static void count_out(const block_header *header) {
    atomic_fetch_sub(&live_bytes, header->bytes);
    atomic_fetch_sub(&role_bytes[header->role], header->bytes);
    atomic_fetch_sub(&live_blocks, 1);
}

void hu_memory_keep(void *block) {
    if (!block || header_of(block)->is_kept) return;
    count_out(header_of(block));
    header_of(block)->is_kept = true;
}

void hu_memory_count_other(hu_memory_role role, int64_t bytes) {
    /* Unsigned sums are modulo 2^64: a negative number takes away. */
    atomic_fetch_add(&role_bytes[role], (uint64_t)bytes);
    raise_peak(atomic_fetch_add(&live_bytes, (uint64_t)bytes) + (uint64_t)bytes);
}

hu_status hu_alloc_for(hu_memory_role role, size_t bytes, void **block) {
    *block = NULL;
    /* One alignment for the header, one for the distance to the first aligned address. */
    size_t total, mapped;
    if (!hu_add_size(bytes, 2 * ALIGNMENT, &total) || hu_fault_strikes())
        return hu_fail(HU_ERR_MEMORY, "cannot allocate %zu bytes", bytes);
    char *start = take_zeros(total, &mapped);
    if (!start) return hu_fail(HU_ERR_MEMORY, "cannot allocate %zu bytes", bytes);
    /* The header takes one alignment, so that the block after it is aligned as well. */
    char *base = start + (ALIGNMENT - (uintptr_t)start % ALIGNMENT) % ALIGNMENT;
    *(block_header *)(void *)base = (block_header){start, bytes, mapped, role, false};
    atomic_fetch_add(&role_bytes[role], bytes);
    atomic_fetch_add(&live_blocks, 1);
    atomic_fetch_add(&allocations, 1);
    raise_peak(atomic_fetch_add(&live_bytes, bytes) + bytes);
    *block = base + ALIGNMENT;
    return HU_OK;
}

hu_status hu_alloc_array(size_t count, size_t element_bytes, void **block) {
    size_t bytes;
    *block = NULL;
    if (!hu_mul_size(count, element_bytes, &bytes))
        return hu_fail(HU_ERR_MEMORY, "cannot allocate %zu elements of %zu bytes", count,
                       element_bytes);
    return hu_alloc(bytes, block);
}

hu_status hu_new_array(size_t count, size_t element_bytes, void *pointer) {
    void *block;
    hu_status st = hu_alloc_array(count, element_bytes, &block);
    memcpy(pointer, &block, sizeof block);
    return st;
}

hu_status hu_realloc(void **block, size_t bytes) {
    void *grown;
    /* A new block keeps the role of the old one. */
    block_header old = {.role = HU_MEMORY_BOOKKEEPING};
    if (*block) old = *header_of(*block);
    /* A new block instead of realloc: the address that realloc gives need not be aligned. */
    hu_status st = hu_alloc_for(old.role, bytes, &grown);
    if (st != HU_OK) return st;
    if (*block) memcpy(grown, *block, old.bytes < bytes ? old.bytes : bytes);
    hu_free(*block);
    *block = grown;
    return HU_OK;
}

hu_status hu_grow(void *array, size_t count, size_t *capacity, size_t element_bytes) {
    /* Elements of the first block; from then on the block doubles, so that appending costs constant
     * time on average. */
    enum { FIRST = 16 };
    if (count < *capacity) return HU_OK;
    size_t bytes, more = *capacity ? 2 * *capacity : FIRST;
    if (!hu_mul_size(more, element_bytes, &bytes))
        return hu_fail(HU_ERR_MEMORY, "cannot allocate %zu elements of %zu bytes", more,
                       element_bytes);
    /* array is the address of a T *: read and written as bytes, whatever T is. */
    void *block;
    memcpy(&block, array, sizeof block);
    hu_status st = hu_realloc(&block, bytes);
    if (st != HU_OK) return st;
    memcpy(array, &block, sizeof block);
    *capacity = more;
    return HU_OK;
}

hu_status hu_scratch_take(hu_scratch *room, size_t bytes, void *pointer) {
    hu_status st = HU_OK;
    if (!room->block || room->bytes < bytes) {
        hu_scratch_free(room);
        st = hu_alloc(bytes, &room->block);
        if (st == HU_OK) room->bytes = bytes;
    }
    memcpy(pointer, &room->block, sizeof room->block);
    return st;
}

void hu_scratch_free(hu_scratch *room) {
    hu_free(room->block);
    *room = (hu_scratch){0};
}

hu_status hu_strndup(const char *text, size_t length, char **copy) {
    void *block;
    hu_status st = hu_alloc(length + 1, &block);
    *copy = block;
    if (st == HU_OK) memcpy(*copy, text, length);
    return st;
}

hu_status hu_strdup(const char *text, char **copy) {
    return hu_strndup(text, strlen(text), copy);
}

void hu_free(void *block) {
    if (!block) return;
    /* The header lies in the block that is freed, hence the copy. */
    block_header header = *header_of(block);
    if (!header.is_kept) count_out(&header);
    if (header.mapped > 0)
        munmap(header.start, header.mapped);
    else
        free(header.start);
}

hu_memory_counts hu_memory_count(void) {
    return (hu_memory_counts){atomic_load(&live_bytes), atomic_load(&live_blocks),
                              atomic_load(&allocations), atomic_load(&peak_bytes)};
}

void hu_memory_fail_at(uint64_t nth) {
    atomic_store(&fail_countdown, nth);
}
