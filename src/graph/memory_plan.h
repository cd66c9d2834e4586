/* graph/memory_plan.h - one arena: buffers with lifetimes get offsets, largest first. */
#ifndef HU_GRAPH_MEMORY_PLAN_H
#define HU_GRAPH_MEMORY_PLAN_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

/* What a buffer of the arena holds; the ledger's rows. */
#define HU_BUFFER_ROLES(X)                                                                         \
    X(ACTIVATION, "activations")                                                                   \
    X(MASK, "masks")                                                                               \
    X(GRADIENT, "gradients")                                                                       \
    X(WEIGHT, "weight copies") X(WEIGHT_GRADIENT, "weight gradients") X(SCRATCH, "scratch")

typedef enum hu_buffer_role {
#define HU_BUFFER_ENUM(name, text) HU_BUFFER_##name,
    HU_BUFFER_ROLES(HU_BUFFER_ENUM)
#undef HU_BUFFER_ENUM
        HU_BUFFER_ROLE_COUNT
} hu_buffer_role;

const char *hu_buffer_role_name(hu_buffer_role role);

typedef struct hu_buffer {
    size_t bytes;
    int32_t first, last; /* alive from time first to time last, both included */
    hu_buffer_role role;
    size_t offset; /* given by hu_memory_plan_place; a multiple of 64 */
} hu_buffer;

/* Gives every buffer an offset such that no two that live at the same time overlap; *total is the
 * arena's size. Greedy by size, lowest free offset. */
hu_status hu_memory_plan_place(hu_buffer *buffers, uint32_t count, size_t *total);

#endif
