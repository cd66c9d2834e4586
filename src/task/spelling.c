#include "task/spelling.h"

#include "sound/ctc.h"

/* Row i of the table of Wagner and Fischer (1974), in place. */
int64_t hu_edit_distance(const int32_t *one, int64_t m, const int32_t *other, int64_t n,
                         int64_t *room) {
    for (int64_t j = 0; j <= n; j++) room[j] = j;
    for (int64_t i = 1; i <= m; i++) {
        int64_t aslant = room[0];
        room[0] = i;
        for (int64_t j = 1; j <= n; j++) {
            int64_t least = aslant + (one[i - 1] != other[j - 1]);
            if (room[j] + 1 < least) least = room[j] + 1;
            if (room[j - 1] + 1 < least) least = room[j - 1] + 1;
            aslant = room[j];
            room[j] = least;
        }
    }
    return room[n];
}

int64_t hu_spelling_wanted(const hu_metric_call *part, int64_t s, int32_t *number) {
    const float *target = part->target + s * part->targets;
    int64_t count = 0;
    for (; count < part->targets && target[count] >= 0.0f; count++)
        number[count] = (int32_t)target[count];
    return count;
}

int64_t hu_spelling_made(const hu_metric_call *part, int64_t s, int32_t *number) {
    int64_t count = 0, before = HU_CTC_BLANK;
    if (!part->prediction) return 0;
    for (int64_t t = 0; t < (int64_t)part->lengths[s]; t++) {
        const float *row = part->prediction + (s * part->rows + t) * part->outputs;
        int64_t k = hu_metric_class(part->outputs, row);
        if (k < 0) k = HU_CTC_BLANK;
        if (k != HU_CTC_BLANK && k != before) number[count++] = (int32_t)k;
        before = k;
    }
    return count;
}

size_t hu_spelling_scratch_bytes(const hu_metric_call *shape) {
    return (size_t)(shape->rows + 1) * sizeof(int64_t) +
           (size_t)(shape->rows + shape->targets) * sizeof(int32_t);
}

hu_spelling hu_spelling_of(const hu_metric_call *part, int64_t s) {
    int64_t *room = part->scratch;
    hu_spelling found = {.made = (int32_t *)(room + part->rows + 1)};
    found.wanted = found.made + part->rows;
    found.made_count = hu_spelling_made(part, s, found.made);
    found.wanted_count = hu_spelling_wanted(part, s, found.wanted);
    found.edits =
        hu_edit_distance(found.wanted, found.wanted_count, found.made, found.made_count, room);
    return found;
}
