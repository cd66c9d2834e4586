/* layout/arena.h - one arena: buffers with lifetimes get offsets, largest first. */
#ifndef HU_LAYOUT_ARENA_H
#define HU_LAYOUT_ARENA_H
#include <halfulp/status.h>

#include "engine/buffer.h"

/* Gives every buffer an offset such that no two that live at the same time overlap; *total is the
 * arena's size. Greedy by size, lowest free offset. */
hu_status hu_arena_place(hu_buffer *buffers, uint32_t count, size_t *total);

#endif
