/* session/given_files.c - a folder is looked into once, not below: what lies in folders of classes
 * is a data set, of which somebody says what is true. */
#include "session/given_files.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/file_names.h"
#include "data/image_decode.h"

/* folder NULL: the name is a path. */
static hu_status add(hu_given_files *files, const char *folder, const char *name) {
    hu_status st = hu_grow(&files->path, files->count, &files->capacity, sizeof *files->path);
    if (st != HU_OK) return st;
    char **path = &files->path[files->count];
    st = folder ? hu_path_join(folder, name, path) : hu_strdup(name, path);
    files->count += st == HU_OK;
    return st;
}

/* Pictures, or sounds. */
static hu_status add_folder(hu_given_files *files, const char *folder) {
    hu_file_names names = {0};
    hu_status st;
    HU_TRY(hu_file_names_of_images(folder, &names));
    if (names.count == 0) {
        hu_file_names_free(&names);
        HU_TRY(hu_file_names_of_sounds(folder, &names));
    }
    if (names.count == 0)
        HU_TRY(hu_fail(HU_ERR_MISSING,
                       "%s: found neither a picture (%s) nor a sound (%s), expected some in the "
                       "folder itself; data=folder:DIR judges pictures in folders of classes",
                       folder, HU_IMAGE_ENDINGS, HU_SOUND_ENDINGS));
    for (size_t i = 0; i < names.count; i++) HU_TRY(add(files, folder, names.name[i]));
done:
    hu_file_names_free(&names);
    return st;
}

hu_status hu_given_files_read(const hu_config *config, int first, hu_given_files *files) {
    hu_status st = HU_OK;
    for (int i = first; st == HU_OK && i < hu_config_subjects(config); i++) {
        const char *given = hu_config_subject(config, i);
        st = hu_is_folder(given) ? add_folder(files, given) : add(files, NULL, given);
    }
    return st;
}

/* JPEGs are decoded at an eighth of their size, all of their data is read. */
static hu_status try_picture(const char *path, hu_image_room *room, bool *is_damaged) {
    enum { SIDE = 1 };
    *is_damaged = false;
    if (!hu_is_image_name(path)) return HU_OK;
    hu_status st = hu_image_read(path, SIDE, room);
    hu_image_room_trim(room);
    *is_damaged = st == HU_ERR_CORRUPT || st == HU_ERR_LIMIT;
    return *is_damaged ? HU_OK : st;
}

hu_status hu_given_files_leave_out(hu_given_files *files, hu_given_file_left *told,
                                   size_t *left_out) {
    hu_status st = HU_OK;
    hu_image_room room = {0};
    size_t kept = 0, count = files->count;
    *left_out = 0;
    if (count < 2) return HU_OK;
    for (size_t i = 0; i < count; i++) {
        bool is_damaged = false;
        if (st == HU_OK) st = try_picture(files->path[i], &room, &is_damaged);
        if (is_damaged) {
            told(hu_last_error());
            hu_free(files->path[i]);
        } else {
            files->path[kept++] = files->path[i];
        }
    }
    files->count = kept; /* of what is left the owner is the same, also after a failure */
    *left_out = count - kept;
    if (st == HU_OK && kept == 0)
        st = hu_fail(HU_ERR_CORRUPT, "%zu pictures, found none that is whole", count);
    hu_image_room_free(&room);
    return st;
}

void hu_given_files_free(hu_given_files *files) {
    for (size_t i = 0; i < files->count; i++) hu_free(files->path[i]);
    hu_free(files->path);
    *files = (hu_given_files){0};
}
