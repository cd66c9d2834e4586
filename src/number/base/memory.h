/* base/memory.h - the only door to the heap: counted, so that the ledger can be checked against it.
 */
#ifndef HU_BASE_MEMORY_H
#define HU_BASE_MEMORY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

/* What a block is for; the allocator counts live bytes by role so that the ledger can be checked to
 * the byte. */
typedef enum hu_memory_role {
    HU_MEMORY_BOOKKEEPING, /* structures, names, tables */
    HU_MEMORY_ARENA,       /* the planned block of a run */
    HU_MEMORY_PARAMETERS,  /* masters and buffers */
    HU_MEMORY_OPTIMIZER,   /* momenta, gradient sums of one worker */
    HU_MEMORY_WORKERS,     /* gradients of several workers, and what travels between them */
    HU_MEMORY_DATA,        /* data sets in memory */
    HU_MEMORY_ROLES
} hu_memory_role;

/* As hu_alloc, for a role other than bookkeeping. */
hu_status hu_alloc_for(hu_memory_role role, size_t bytes, void **block);

/* Counts a block under another role from now on; NULL is allowed. */
void hu_memory_assign(void *block, hu_memory_role role);

/* Takes a block that lives as long as the process out of the counts: nobody waits for its end. NULL
 * is allowed. Proof: tests/unit/base_memory_test.c. */
void hu_memory_keep(void *block);

/* Takes bytes that another allocator gave for a role into the counts; a negative number takes them
 * out again. */
void hu_memory_count_other(hu_memory_role role, int64_t bytes);

/* Bytes asked for and not yet freed in a role. */
uint64_t hu_memory_live(hu_memory_role role);

/* Zeroed block, 64-byte aligned. On failure *block is NULL and HU_ERR_MEMORY names the size. bytes
 * = 0 gives a valid block that must be freed too. Owner frees with hu_free. */
hu_status hu_alloc(size_t bytes, void **block);

/* Zeroed array of count elements; the product is checked. */
hu_status hu_alloc_array(size_t count, size_t element_bytes, void **block);

/* *pointer = a new zeroed array of count elements; NULL on failure. pointer is the address of a T *
 * of any T; the new address is copied into it, because a T * must not be written as a void *. */
hu_status hu_new_array(size_t count, size_t element_bytes, void *pointer);

/* HU_NEW_ARRAY(&list, count), HU_NEW(&one): elements of the pointer's own type. */
#define HU_NEW_ARRAY(pointer, count) hu_new_array((count), sizeof **(pointer), (pointer))
#define HU_NEW(pointer) HU_NEW_ARRAY(pointer, 1)

/* Grows a block to bytes, keeping its contents (new part zeroed). *block may be NULL; on failure it
 * is untouched. */
hu_status hu_realloc(void **block, size_t bytes);

/* Makes room for one more element after count: grows *array, of *capacity elements, to twice as
 * many where it is full; what is new is zero. On failure both stay as they are. array: the address
 * of a T *, as in hu_new_array. */
hu_status hu_grow(void *array, size_t count, size_t *capacity, size_t element_bytes);

/* A block that is used again and again, all zero at first. */
typedef struct hu_scratch {
    void *block;
    size_t bytes;
} hu_scratch;

/* Room for at least so many bytes, whose contents are anything; a smaller block is given up. Its
 * address goes to *pointer, the address of a T *. HU_ERR_MEMORY, and *pointer is NULL; the room is
 * freed by hu_scratch_free all the same. */
hu_status hu_scratch_take(hu_scratch *room, size_t bytes, void *pointer);
void hu_scratch_free(hu_scratch *room);

/* Copy of a string / of its first length bytes plus a final zero. */
hu_status hu_strdup(const char *text, char **copy);
hu_status hu_strndup(const char *text, size_t length, char **copy);

/* Frees a block of the functions above; NULL is allowed. */
void hu_free(void *block);

/* What hu_memory_count tells. Bytes are those that callers asked for, without headers. */
typedef struct hu_memory_counts {
    uint64_t live_bytes; /* bytes asked for and not yet freed */
    uint64_t live_blocks;
    uint64_t allocations; /* calls that gave a block since the start */
    uint64_t peak_bytes;
} hu_memory_counts;

/* Counters of the whole process; safe from any thread. */
hu_memory_counts hu_memory_count(void);

/* For tests: the nth allocation from now (1 = next) fails once; 0 switches the fault off. */
void hu_memory_fail_at(uint64_t nth);

/* Counts one allocation that a caller is about to make by other means: true if it is the one that
 * hu_memory_fail_at wants to fail. Thread-safe. */
bool hu_fault_strikes(void);

/* From now on large blocks of hu_alloc are addresses alone, zeros like others, to which the system
 * promises no memory: whoever plans what it does not run may plan more than the machine has. false:
 * blocks are as ever; those that are present stay. */
void hu_memory_only_counts(bool only_counts);

#endif
