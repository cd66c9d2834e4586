/* Recursive halving and doubling: 2 log2(p) steps, halves of what is left. Workers beyond the
 * largest power of two hand their gradient to another one first and get the result last. */
#include "comm/list.h"

/* Largest power of two that is not above the number of workers. */
static int32_t core_of(const hu_comm_shape *shape) {
    int32_t core = 1;
    while (core <= shape->workers / 2) core *= 2;
    return core;
}

static int32_t pieces(const hu_comm_shape *shape) {
    return core_of(shape);
}

/* One step between the workers beyond the core and their partners in it. */
static void fold(const hu_comm_shape *shape, int32_t rank, hu_comm_list *list, bool out) {
    int32_t core = core_of(shape), partner = rank < core ? rank + core : rank - core;
    if (shape->workers == core) return;
    hu_comm_list_step(list);
    if (partner >= shape->workers) return;
    if ((rank >= core) != out)
        hu_comm_list_send(list, partner, 0, core);
    else
        hu_comm_list_receive(list, out ? HU_COMM_TAKE : HU_COMM_ADD, partner, 0, core);
}

static void write(const hu_comm_shape *shape, int32_t rank, hu_comm_list *list) {
    int32_t core = core_of(shape), first = 0;
    bool inside = rank < core;
    fold(shape, rank, list, false);
    /* The worker keeps the half in which its own piece lies. */
    for (int32_t half = core / 2; half >= 1; half /= 2) {
        hu_comm_list_step(list);
        if (!inside) continue;
        int32_t upper = first + half;
        bool is_upper = (rank & half) != 0;
        hu_comm_list_send(list, rank ^ half, is_upper ? first : upper, half);
        if (is_upper) first = upper;
        hu_comm_list_receive(list, HU_COMM_ADD, rank ^ half, first, half);
    }
    for (int32_t half = 1; half < core; half *= 2) {
        hu_comm_list_step(list);
        if (!inside) continue;
        hu_comm_list_send(list, rank ^ half, first, half);
        hu_comm_list_receive(list, HU_COMM_TAKE, rank ^ half, first ^ half, half);
        first &= ~half;
    }
    fold(shape, rank, list, true);
}

const hu_comm_schedule hu_comm_schedule_halving = {
    .name = "halving",
    .help = "recursive halving and doubling; 2 log2(p) steps",
    .adds_on_way = true,
    .pieces = pieces,
    .write = write};
