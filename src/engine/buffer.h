/* engine/buffer.h - one buffer of a run's arena: its size, its lifetime and what it holds. */
#ifndef HU_ENGINE_BUFFER_H
#define HU_ENGINE_BUFFER_H
#include <stddef.h>
#include <stdint.h>

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
    int32_t first, last; /* alive from time first to time last, both included (layout/buffers.h) */
    hu_buffer_role role;
    size_t offset; /* in the arena, given by hu_arena_place; a multiple of 64 */
} hu_buffer;

#endif
