/* data/image_held.c - which images of a folder without a test half are drawn to test with. */
#include "data/image_held.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/file_names.h"
#include "data/image_list.h"

const char *hu_image_held_directory(const char *spec) {
    static const char *const kinds[] = {"folder:", "sounds:"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(spec, kinds[i], strlen(kinds[i])) == 0) return spec + strlen(kinds[i]);
    return NULL;
}

hu_status hu_image_held_is_flat(const char *directory, bool *is_flat) {
    hu_status st = hu_folder_find(directory, is_flat);
    if (st == HU_OK && *is_flat)
        *is_flat = !hu_has_folder(directory, "val") && !hu_has_folder(directory, "test");
    return st;
}

/* The path without the directory, which may have moved; the size, as other folders may call their
 * files the same. */
static hu_status write_image(const hu_image_list *list, int64_t i, hu_room *room,
                             hu_byte_writer *out) {
    hu_status st;
    char *path, size[32];
    uint64_t bytes;
    const char *class_name = hu_path_name(list->folder[list->label[i]]);
    HU_TRY(hu_image_list_path(list, i, room, &path));
    HU_TRY(hu_file_size(path, &bytes));
    int digits = snprintf(size, sizeof size, "%" PRIu64 " ", bytes);
    HU_TRY(hu_write_bytes(out, size, (size_t)digits));
    HU_TRY(hu_write_bytes(out, class_name, strlen(class_name)));
    HU_TRY(hu_write_bytes(out, "/", 1));
    HU_TRY(hu_write_bytes(out, hu_path_name(path), strlen(hu_path_name(path))));
    HU_TRY(hu_write_bytes(out, "\n", 1));
done:
    return st;
}

hu_status hu_image_held_list(const char *directory, const hu_image_choice *choice, char **text) {
    hu_status st;
    static const hu_data_limits everything = {0, 0};
    hu_image_list train = {0}, test = {0};
    hu_room room = {0};
    hu_byte_writer out = {0};
    char *names = NULL;
    int64_t classes;
    bool is_flat;
    *text = NULL;
    HU_TRY(hu_image_held_is_flat(directory, &is_flat));
    if (!is_flat || choice->held <= 0.0) goto done;
    HU_TRY(hu_image_list_make(directory, &everything, choice, &train, &test, &names, &classes));
    for (int64_t i = 0; i < test.count; i++) HU_TRY(write_image(&test, i, &room, &out));
    HU_TRY(hu_write_bytes(&out, "", 1));
    *text = (char *)out.data;
    out.data = NULL;
done:
    hu_free(out.data);
    hu_room_free(&room);
    hu_free(names);
    hu_image_list_free(&train);
    hu_image_list_free(&test);
    return st;
}
