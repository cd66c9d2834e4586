#include "op/sight.h"

#include "op/row_count.h"

const hu_attribute hu_sight_attributes[] = {
    {HU_ATTRIBUTE_FLAG, "causal", offsetof(hu_sight_attrs, is_causal), 0},
    {HU_ATTRIBUTE_FLAG, "lengths_too", offsetof(hu_sight_attrs, lengths_too), 0},
    {HU_ATTRIBUTE_END, NULL, 0, 0},
};

hu_sight_lengths hu_sight_lengths_of(int n_in, const float *const *in, int first) {
    return (hu_sight_lengths){.keys = n_in > first ? in[first] : NULL,
                              .rows = n_in > first + 1 ? in[first + 1] : NULL};
}

hu_status hu_sight_expect_lengths(const char *op, int first, int n_in, const hu_shape *in) {
    hu_status st = hu_expect_lengths(op, first, n_in, in);
    return st == HU_OK ? hu_expect_lengths(op, first + 1, n_in, in) : st;
}

hu_heads_there hu_sight_there(const hu_sight_attrs *attrs, const hu_heads *heads,
                              hu_sight_lengths lengths, int64_t i) {
    hu_heads_there there = {heads->rows, heads->keys};
    const float *rows = attrs->lengths_too && !lengths.rows ? lengths.keys : lengths.rows;
    if (lengths.keys) there.keys = hu_rows_of_length(lengths.keys[i], heads->keys);
    if (rows) there.rows = hu_rows_of_length(rows[i], heads->rows);
    return there;
}

int64_t hu_sight_absent_pairs(const hu_sight_attrs *attrs, const hu_heads *heads, int64_t count,
                              hu_sight_lengths lengths) {
    int64_t seen = 0;
    for (int64_t i = 0; i < count; i++)
        seen += hu_heads_pairs_seen(heads, hu_sight_there(attrs, heads, lengths, i));
    return heads->heads * (count * heads->rows * heads->keys - seen);
}
