#include "train/width.h"

#include <math.h>

#include "train/network.h"

static const double least = 0.01, most = 64.0, per_unit = 100.0;

/* The same values of the same sizes. */
static bool is_same(const hu_graph *a, const hu_graph *b) {
    if (a->value_count != b->value_count) return false;
    for (hu_value_id v = 0; v < a->value_count; v++) {
        const hu_shape *one = &a->value[v].shape, *other = &b->value[v].shape;
        if (one->rank != other->rank) return false;
        for (int i = 0; i < one->rank; i++)
            if (one->extent[i] != other->extent[i]) return false;
    }
    return true;
}

/* Whether a width makes another network; one that cannot be made is another. */
static hu_status differs(const hu_train_options *options, const hu_dataset *dataset,
                         const hu_graph *graph, double width, bool *is_other) {
    hu_train_options other = *options;
    hu_task_choice choice;
    hu_graph *made = NULL;
    other.width = width;
    hu_status st = hu_train_network(&other, dataset, &choice, &made);
    *is_other = st != HU_OK || !is_same(graph, made);
    hu_graph_free(made);
    return st == HU_ERR_MEMORY ? st : HU_OK;
}

hu_status hu_train_other_widths(const hu_train_options *options, const hu_dataset *dataset,
                                const hu_graph *graph, double *below, double *above) {
    double *const found[] = {below, above};
    *below = *above = (double)NAN;
    for (int side = 0; side < 2; side++) {
        double first = side ? floor(per_unit * options->width) : ceil(per_unit * options->width);
        for (int i = 1; i <= HU_WIDTHS_LOOKED_AT && isnan(*found[side]); i++) {
            double width = (side ? first + i : first - i) / per_unit;
            bool is_other;
            if (width < least || width > most) break;
            hu_status st = differs(options, dataset, graph, width, &is_other);
            if (st != HU_OK) return st;
            if (is_other) *found[side] = width;
        }
    }
    return HU_OK;
}
