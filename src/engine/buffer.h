/* engine/buffer.h - one buffer of a run's arena: its size, its lifetime and what it holds. */
#ifndef HU_ENGINE_BUFFER_H
#define HU_ENGINE_BUFFER_H
#include <stddef.h>
#include <stdint.h>

#include "graph/graph.h"

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

/* Passes that follow each other: of a step without turns, or of an evaluation and each turn.
 * Nothing but parameters and their gradients outlives one of them. */
enum { HU_COURSES = 1 + HU_TURNS_MOST };

typedef struct hu_life {
    int32_t first, last; /* alive from time first to time last, both included (layout/buffers.h) */
} hu_life;

typedef struct hu_buffer {
    size_t bytes;
    hu_life life[HU_COURSES];
    hu_buffer_role role;
    size_t offset; /* in the arena, given by hu_arena_place; a multiple of 64 */
} hu_buffer;

/* Nobody has used it yet. */
void hu_buffer_forget(hu_buffer *buffer);

/* It is used in a course at a time. */
void hu_buffer_use(hu_buffer *buffer, int course, int32_t time);

bool hu_buffer_is_used(const hu_buffer *buffer);
bool hu_buffer_is_alive(const hu_buffer *buffer, int course, int32_t time);

/* True if it is alive behind a time of some course. */
bool hu_buffer_outlives(const hu_buffer *buffer, int32_t time);

/* True if both are alive at some time of some course. */
bool hu_buffers_meet(const hu_buffer *a, const hu_buffer *b);

#endif
