#include "data/order.h"

#include "base/memory.h"
#include "base/rng.h"

hu_status hu_order_create(const hu_split *split, uint64_t seed, bool shuffle, hu_order *order) {
    *order = (hu_order){.split = split, .seed = seed, .epoch = -1};
    return shuffle ? HU_NEW_ARRAY(&order->place, (size_t)split->count) : HU_OK;
}

void hu_order_free(hu_order *order) {
    hu_free(order->place);
    order->place = NULL;
}

void hu_order_begin(hu_order *order, int64_t epoch) {
    hu_random_key key = {order->seed, hu_stream_id("shuffle", ""), (uint64_t)epoch};
    if (order->place && order->epoch != epoch)
        hu_random_permutation(&key, (uint32_t)order->split->count, order->place);
    order->epoch = epoch;
}

int64_t hu_order_index(const hu_order *order, int64_t position) {
    int64_t place = order->place ? order->place[position] : position;
    return order->split->index ? order->split->index[place] : place;
}
