/* session/held_images.c - whether a folder of images is the one that a run was trained on. */
#include "session/held_images.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/image_list.h"
#include "session/data.h"

hu_status hu_held_images_write(hu_config *config, const hu_dataset *dataset,
                               const char *directory) {
    hu_status st;
    hu_image_choice choice;
    char *text = NULL, *path = NULL;
    const char *images = hu_image_held_directory(dataset->name);
    if (!images || !dataset->holds_test) return HU_OK;
    HU_TRY(hu_session_image_choice(config, &choice));
    HU_TRY(hu_image_held_list(images, &choice, &text));
    if (!text) goto done;
    HU_TRY(hu_path_join(directory, HU_HELD_FILE, &path));
    HU_TRY(hu_file_replace(path, text, strlen(text)));
done:
    hu_free(text);
    hu_free(path);
    return st;
}

/* Whether a text stands in RUN/held-out.txt, which runs of older versions lack. */
static hu_status is_noted(const char *directory, const char *text, bool *is_same) {
    hu_status st;
    uint8_t *noted = NULL;
    size_t bytes;
    bool is_there;
    char *path = NULL;
    *is_same = false;
    HU_TRY(hu_path_join(directory, HU_HELD_FILE, &path));
    HU_TRY(hu_file_find(path, &is_there));
    if (!is_there) goto done;
    HU_TRY(hu_file_read_plain(path, SIZE_MAX, &noted, &bytes));
    *is_same = bytes == strlen(text) && memcmp(noted, text, bytes) == 0;
done:
    hu_free(noted);
    hu_free(path);
    return st;
}

/* A folder from which nothing can be drawn as from the run's is another one, whatever the reason.
 */
static hu_status is_own(hu_config *config, const char *directory, const char *images,
                        bool *is_same) {
    hu_image_choice choice;
    char *text = NULL;
    *is_same = false;
    hu_status st = hu_session_image_choice(config, &choice);
    if (st != HU_OK || hu_image_held_list(images, &choice, &text) != HU_OK || !text) return st;
    st = is_noted(directory, text, is_same);
    hu_free(text);
    return st;
}

hu_status hu_held_images_other(hu_config *config, const char *directory,
                               const hu_listener *listener, bool *has_other_data, bool *takes_all) {
    hu_status st;
    const char *name;
    bool is_flat, is_same;
    *takes_all = false;
    HU_TRY(hu_config_text(config, "data.name", &name));
    const char *images = hu_image_held_directory(name);
    if (!*has_other_data || !images) return HU_OK;
    HU_TRY(hu_image_held_is_flat(images, &is_flat));
    if (!is_flat || hu_config_asked(config, "data.validation")) return HU_OK;
    HU_TRY(is_own(config, directory, images, &is_same));
    if (is_same) {
        hu_listener_tell(listener,
                         "%s: the images that the run held out are there: it is judged "
                         "by these again (data.validation=0: by all)",
                         name);
        *has_other_data = false;
        return HU_OK;
    }
    *takes_all = true;
    st = hu_config_replace(config, "data.validation", "0", "other data are looked at");
done:
    return st;
}

void hu_held_images_tell(const hu_dataset *dataset, bool takes_all, const hu_listener *listener) {
    long long count = (long long)dataset->test.count;
    if (takes_all)
        hu_listener_tell(listener,
                         "%s: neither val nor test is there: all %lld images are judged, also "
                         "those that a training in this folder has seen (data.validation=0.2: a "
                         "share, drawn as by a training)",
                         dataset->name, count);
    else if (dataset->only_test && dataset->holds_test)
        hu_listener_tell(listener, "%s: %lld images are drawn to judge by (data.validation)",
                         dataset->name, count);
}
