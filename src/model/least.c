#include "model/least.h"

#include <string.h>

#include "base/error.h"

enum { MOST = 1024, MESSAGE_BYTES = 1024, PICTURE_RANK = 3 };

/* The picture: the first thing that the model reads. */
static const hu_shape *picture_of(const hu_model_options *options) {
    return options->choice ? &options->choice->shapes.value[0] : &options->image;
}

static void resize(hu_shape *shape, const hu_shape *picture, int64_t side) {
    if (shape->rank < 2 || shape->extent[0] != picture->extent[0] ||
        shape->extent[1] != picture->extent[1])
        return;
    shape->extent[0] = shape->extent[1] = side;
}

/* Can it be declared for squares of this side? Label maps are as large as the picture. */
static bool takes(const hu_model_options *options, hu_model_builder *build, int64_t side) {
    const hu_shape picture = *picture_of(options);
    hu_model_options other = *options;
    hu_task_choice choice;
    hu_graph *graph;
    resize(&other.image, &picture, side);
    if (options->choice) {
        choice = *options->choice;
        for (int i = 0; i < choice.shapes.count; i++)
            resize(&choice.shapes.value[i], &picture, side);
        other.choice = &choice;
    }
    if (hu_graph_create(&graph) != HU_OK) return false;
    bool is_built = build(&other, graph) == HU_OK;
    hu_graph_free(graph);
    return is_built;
}

/* The least side above `fails`, which is too small; 0: none is known. */
static int64_t least_above(const hu_model_options *options, hu_model_builder *build,
                           int64_t fails) {
    int64_t works = 2 * fails;
    while (works <= MOST && !takes(options, build, works)) {
        fails = works;
        works *= 2;
    }
    if (works > MOST) return 0;
    while (works - fails > 1) {
        int64_t middle = (fails + works) / 2;
        if (takes(options, build, middle))
            works = middle;
        else
            fails = middle;
    }
    return works;
}

hu_status hu_model_say_least(const hu_model_options *options, hu_model_builder *build,
                             int64_t only) {
    char message[MESSAGE_BYTES];
    const hu_shape *picture = picture_of(options);
    strncpy(message, hu_last_error(), sizeof message - 1);
    message[sizeof message - 1] = '\0';
    int64_t lesser = 0, least = 0;
    if (picture->rank == PICTURE_RANK && !strstr(message, "data.size"))
        lesser = picture->extent[picture->extent[1] < picture->extent[0]];
    if (lesser > 0 && only > 0)
        least = takes(options, build, only) ? only : 0;
    else if (lesser > 0 && !takes(options, build, lesser))
        least = least_above(options, build, lesser);
    if (least == 0) return hu_fail(HU_ERR_SHAPE, "%s", message);
    return hu_fail(HU_ERR_SHAPE,
                   "found pictures of %lld x %lld pixels, expected %s%lld x %lld (data.size): %s",
                   (long long)picture->extent[0], (long long)picture->extent[1],
                   only > 0 ? "" : "at least ", (long long)least, (long long)least, message);
}
