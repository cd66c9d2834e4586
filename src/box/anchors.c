#include "box/anchors.h"

#include <inttypes.h>
#include <math.h>

#include "base/error.h"

static void add_shape(hu_anchor_map *map, hu_picture picture, double width, double height) {
    map->w[map->shapes] = width / (double)picture.width;
    map->h[map->shapes++] = height / (double)picture.height;
}

static hu_anchor_map places(double step, hu_picture picture, int64_t height, int64_t width) {
    return (hu_anchor_map){.height = height,
                           .width = width,
                           .step_y = step / (double)picture.height,
                           .step_x = step / (double)picture.width};
}

hu_anchor_map hu_anchor_map_ssd(const hu_ssd_map *form, hu_picture picture, int64_t height,
                                int64_t width) {
    hu_anchor_map map = places(form->step, picture, height, width);
    double between = sqrt(form->size * form->next);
    add_shape(&map, picture, form->size, form->size);
    add_shape(&map, picture, between, between);
    for (int r = 0; r < form->ratios; r++) {
        double root = sqrt(form->ratio[r]);
        add_shape(&map, picture, form->size * root, form->size / root);
        add_shape(&map, picture, form->size / root, form->size * root);
    }
    return map;
}

hu_anchor_map hu_anchor_map_proposals(const hu_proposal_map *form, hu_picture picture,
                                      int64_t height, int64_t width) {
    hu_anchor_map map = places(form->step, picture, height, width);
    for (int r = 0; r < form->ratios; r++) {
        double root = sqrt(form->ratio[r]);
        for (int s = 0; s < form->sizes; s++)
            add_shape(&map, picture, form->size[s] / root, form->size[s] * root);
    }
    return map;
}

static int64_t count_of(const hu_anchor_map *map) {
    return map->height * map->width * map->shapes;
}

int64_t hu_anchors_count(const hu_anchors *anchors) {
    int64_t count = 0;
    for (int64_t m = 0; m < anchors->maps; m++) count += count_of(&anchors->map[m]);
    return count;
}

hu_centred hu_anchor_at(const hu_anchors *anchors, int64_t index) {
    const hu_anchor_map *map = anchors->map;
    while (index >= count_of(map)) index -= count_of(map++);
    int64_t shape = index % map->shapes, place = index / map->shapes;
    hu_centred made = {((double)(place % map->width) + 0.5) * map->step_x,
                       ((double)(place / map->width) + 0.5) * map->step_y, map->w[shape],
                       map->h[shape]};
    if (!anchors->is_clipped) return made;
    return (hu_centred){hu_share_inside(made.cx), hu_share_inside(made.cy), hu_share_inside(made.w),
                        hu_share_inside(made.h)};
}

static bool is_sound(const hu_anchor_map *map) {
    bool has_places = map->height > 0 && map->width > 0 && map->step_y > 0.0 && map->step_x > 0.0;
    bool is_sound = has_places && map->shapes > 0 && map->shapes <= HU_ANCHOR_SHAPES_MAX;
    for (int64_t s = 0; is_sound && s < map->shapes; s++)
        is_sound = map->w[s] > 0.0 && map->h[s] > 0.0;
    return is_sound;
}

hu_status hu_anchors_check(const hu_anchors *anchors) {
    if (anchors->maps < 1 || anchors->maps > HU_ANCHOR_MAPS_MAX)
        return hu_fail(HU_ERR_SHAPE,
                       "anchors: found %" PRId64 " maps, expected 1 to %d; models that detect have "
                       "them",
                       anchors->maps, HU_ANCHOR_MAPS_MAX);
    if (anchors->most < 0 || anchors->most > HU_ANCHOR_BOXES_MAX)
        return hu_fail(HU_ERR_SHAPE,
                       "anchors: found at most %" PRId64 " boxes of a picture, expected 0 to %d",
                       anchors->most, HU_ANCHOR_BOXES_MAX);
    for (int64_t m = 0; m < anchors->maps; m++)
        if (!is_sound(&anchors->map[m]))
            return hu_fail(
                HU_ERR_SHAPE,
                "anchors: map %" PRId64 " has %" PRId64 " x %" PRId64 " places and %" PRId64
                " shapes, expected at least one of each, and sides and steps above 0",
                m, anchors->map[m].height, anchors->map[m].width, anchors->map[m].shapes);
    return HU_OK;
}
