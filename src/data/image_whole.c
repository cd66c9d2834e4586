#include "data/image_whole.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/each.h"
#include "data/image_decode.h"

bool hu_image_is_unreadable(hu_status status) {
    return status == HU_ERR_CORRUPT || status == HU_ERR_KIND || status == HU_ERR_LIMIT;
}

typedef struct search {
    const char *folder;
    const hu_file_names *names;
    bool *is_whole; /* [names->count] */
} search;

static hu_status try_file(void *context, int64_t i) {
    enum { SIDE = 1 };
    search *s = context;
    char *path;
    hu_image_room room = {0};
    hu_status st = hu_path_join(s->folder, s->names->name[i], &path);
    if (st != HU_OK) return st;
    st = hu_image_read(path, SIDE, &room);
    s->is_whole[i] = st == HU_OK;
    hu_image_room_free(&room);
    hu_free(path);
    return hu_image_is_unreadable(st) ? HU_OK : st;
}

hu_status hu_image_names_keep_whole(const char *folder, hu_file_names *names, int64_t *damaged,
                                    char **first) {
    search s = {.folder = folder, .names = names};
    *damaged = 0;
    *first = NULL;
    hu_status st = HU_NEW_ARRAY(&s.is_whole, names->count);
    if (st != HU_OK) return st;
    HU_TRY(hu_data_each((int64_t)names->count, try_file, &s));
    for (size_t i = 0; i < names->count; i++) {
        if (s.is_whole[i]) continue;
        if (*damaged == 0) HU_TRY(hu_path_join(folder, names->name[i], first));
        ++*damaged;
    }
    hu_file_names_keep(names, s.is_whole);
done:
    hu_free(s.is_whole);
    return st;
}
