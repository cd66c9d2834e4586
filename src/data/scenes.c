#include "data/scenes.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "data/image_decode.h"

enum { USUAL_MEMORY = 1 << 30, OF_TEST = 4 };

static hu_status read_file(const char *path, bool upright, hu_image_room *room) {
    return upright ? hu_image_read_upright(path, HU_IMAGE_PIXELS_MAX, room)
                   : hu_image_read(path, HU_IMAGE_PIXELS_MAX, room);
}

hu_status hu_scene_measure(const char *path, int64_t size, bool upright, hu_scene_size *scene) {
    hu_image_room room = {0};
    const hu_image *image = &room.image;
    if (size < 0 || size > HU_IMAGE_SIDE_MAX)
        return hu_fail(HU_ERR_ARGUMENT, "image size: found %lld, expected 0..%d", (long long)size,
                       HU_IMAGE_SIDE_MAX);
    /* As large as it is: JPEGs could be decoded smaller. */
    hu_status st = read_file(path, upright, &room);
    *scene = (hu_scene_size){image->height, image->width, size > 0, upright};
    if (st == HU_OK && size > 0) {
        int64_t shorter = image->width < image->height ? image->width : image->height;
        scene->height = image->height * size / shorter;
        scene->width = image->width * size / shorter;
    }
    hu_image_room_free(&room);
    return st;
}

hu_status hu_scene_read(const char *path, const hu_scene_size *scene, hu_image_room *room,
                        uint8_t *pixels, hu_image *file) {
    const hu_image_cut whole = {0, 0, scene->width, scene->height};
    return hu_scene_read_part(path, scene, scene, &whole,
                              (size_t)(scene->width * HU_IMAGE_CHANNELS), room, pixels, file);
}

hu_status hu_scene_read_part(const char *path, const hu_scene_size *scene, const hu_scene_size *to,
                             const hu_image_cut *part, size_t row_bytes, hu_image_room *room,
                             uint8_t *pixels, hu_image *file) {
    const hu_image *image = &room->image;
    char seen[HU_IMAGE_SEEN_BYTES];
    hu_status st = read_file(path, scene->upright, room);
    if (st != HU_OK) return st;
    *file = (hu_image){
        .width = image->width, .height = image->height, .orientation = image->orientation};
    bool is_same = image->width == scene->width && image->height == scene->height;
    if (!is_same && !scene->resizes)
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: found %lldx%lld pixels%s, expected %lldx%lld as the first image has; "
                       "data.size=N makes them equal",
                       path, (long long)image->width, (long long)image->height,
                       hu_image_seen(image, seen), (long long)scene->width,
                       (long long)scene->height);
    return hu_image_resize_part(image, to->height, to->width, part, row_bytes, pixels,
                                &room->resizer);
}

hu_status hu_scene_partner(const char *folder, const char *name, const char *ending, char **path) {
    char partner[1024];
    const char *dot = strrchr(name, '.');
    int stem = dot ? (int)(dot - name) : (int)strlen(name);
    *path = NULL;
    if (snprintf(partner, sizeof partner, "%.*s%s", stem, name, ending) >= (int)sizeof partner)
        return hu_fail(HU_ERR_LIMIT, "%s: found a name of %zu letters, expected fewer than %zu",
                       folder, strlen(name), sizeof partner);
    return hu_path_join(folder, partner, path);
}

/* Bytes that programs can still get; 0: not known. */
static uint64_t available_bytes(void) {
    char line[128];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) break;
    if (file) fclose(file);
    return kib * 1024;
}

hu_keeping hu_keeping_decide(uint64_t memory, int64_t train, int64_t test, uint64_t sample_bytes) {
    hu_keeping k = {.memory = memory ? memory : USUAL_MEMORY};
    uint64_t have = available_bytes();
    if (have > 0 && have < k.memory) k.memory = have;
    k.keeps_train = train >= 0 && (uint64_t)(train + test) <= k.memory / sample_bytes;
    k.keeps_test = k.keeps_train || (uint64_t)test <= k.memory / OF_TEST / sample_bytes;
    return k;
}
