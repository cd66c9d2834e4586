#include "op/sight.h"

#include "op/row_count.h"

const hu_attribute hu_sight_attributes[] = {
    {HU_ATTRIBUTE_FLAG, "causal", offsetof(hu_sight_attrs, is_causal), 0},
    {HU_ATTRIBUTE_FLAG, "lengths_too", offsetof(hu_sight_attrs, lengths_too), 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
};

hu_heads_there hu_sight_there(const hu_sight_attrs *attrs, const hu_heads *heads,
                              const float *lengths, int64_t i) {
    hu_heads_there there = {heads->rows, heads->keys};
    if (!lengths) return there;
    there.keys = hu_rows_of_length(lengths[i], heads->keys);
    if (attrs->lengths_too) there.rows = hu_rows_of_length(lengths[i], heads->rows);
    return there;
}

int64_t hu_sight_absent_pairs(const hu_sight_attrs *attrs, const hu_heads *heads, int64_t count,
                              const float *lengths) {
    int64_t seen = 0;
    for (int64_t i = 0; i < count; i++)
        seen += hu_heads_pairs_seen(heads, hu_sight_there(attrs, heads, lengths, i));
    return heads->heads * (count * heads->rows * heads->keys - seen);
}
