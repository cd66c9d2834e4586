#include "session/confusion_kept.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/image_files.h"

enum { NAME_BYTES = 48 };

/* NULL where there is no text, or none that is UTF-8, which JSON cannot hold. */
static json_t *text_json(const char *text) {
    json_t *made = text ? json_string(text) : NULL;
    return made ? made : json_null();
}

static void picture_name(size_t number, char name[NAME_BYTES]) {
    snprintf(name, NAME_BYTES, "mistakes/%02zu.png", number);
}

static json_t *mistake_json(const hu_confusion *c, size_t number) {
    const hu_mistake *m = &c->mistake[number];
    char truth[HU_CLASS_WORD_BYTES], said[HU_CLASS_WORD_BYTES], name[NAME_BYTES];
    picture_name(number, name);
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "sample", (json_int_t)m->sample, "file",
                     text_json(m->file), "truth", text_json(hu_confusion_word(c, m->truth, truth)),
                     "said", text_json(hu_confusion_word(c, m->said, said)), "probability",
                     hu_json_number(m->probability), "picture", text_json(m->pixels ? name : NULL));
}

static hu_status write_picture(const hu_confusion *c, size_t number, const char *folder) {
    char name[NAME_BYTES], *path = NULL;
    uint8_t *png = NULL;
    size_t bytes;
    hu_status st;
    picture_name(number, name);
    HU_TRY(hu_path_join(folder, name, &path));
    HU_TRY(hu_image_png("a sample", c->extent[0], c->extent[1], c->extent[2],
                        c->mistake[number].pixels, &png, &bytes));
    HU_TRY(hu_file_replace(path, png, bytes));
done:
    hu_free(png);
    hu_free(path);
    return st;
}

static hu_status write_pictures(const hu_confusion *c, const char *folder) {
    char *directory = NULL;
    hu_status st = HU_OK;
    if (c->mistakes == 0 || !c->mistake[0].pixels) return HU_OK;
    HU_TRY(hu_path_join(folder, "mistakes", &directory));
    HU_TRY(hu_directory_create(directory));
    for (size_t i = 0; i < c->mistakes; i++) HU_TRY(write_picture(c, i, folder));
done:
    hu_free(directory);
    return st;
}

static hu_status write_json(const char *folder, json_t *object) {
    char *path = NULL, *text = NULL;
    hu_status st = hu_json_pretty(object, &text);
    if (st == HU_OK) st = hu_path_join(folder, "confusion.json", &path);
    if (st == HU_OK) st = hu_file_replace(path, text, strlen(text));
    hu_free(path);
    hu_free(text);
    return st;
}

hu_status hu_confusion_keep(const hu_confusion *c, const char *folder, const char *part,
                            int64_t step) {
    hu_status st;
    json_t *object, *list = json_array();
    if (c->classes == 0) {
        json_decref(list);
        return HU_OK;
    }
    for (size_t i = 0; i < c->mistakes; i++) json_array_append_new(list, mistake_json(c, i));
    object = json_pack("{s:I, s:s, s:o}", "step", (json_int_t)step, "part", part, "mistakes", list);
    HU_TRY(hu_confusion_put(c, part, object));
    HU_TRY(write_pictures(c, folder));
    st = write_json(folder, object);
    object = NULL;
done:
    json_decref(object);
    return st;
}
