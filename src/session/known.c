/* session/known.c - what a run knows of its data: the names of classes, and the shapes of samples.
 */
#include "session/known.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/class_names.h"
#include "data/transcripts.h"
#include "data/vocabulary.h"
#include "journal/graph.h"
#include "task/task.h"

/* The shape of a value; NULL where the graph has none of this name and rank. */
static const hu_shape *shape_of(const hu_graph *graph, const char *name, int rank) {
    hu_value_id v = hu_graph_find(graph, name);
    return v != HU_NONE && graph->value[v].shape.rank == rank ? &graph->value[v].shape : NULL;
}

/* Rows of scores for each pixel end with the classes. */
static int64_t classes_of_pixels(const hu_graph *graph) {
    enum { MAP_RANK = 2 };
    hu_value_id made = hu_task_prediction(graph);
    if (!shape_of(graph, "mask", MAP_RANK) || made == HU_NONE) return 0;
    const hu_shape *shape = &graph->value[made].shape;
    return shape->rank > 0 ? shape->extent[shape->rank - 1] : 0;
}

/* Shapes of the picture and of its boxes; what is not there is not known. */
static void read_shapes(const hu_graph *graph, hu_data_known *known) {
    enum { PICTURE_RANK = 3, BOXES_RANK = 2, TEXT_RANK = 1 };
    const hu_shape *picture = shape_of(graph, "input", PICTURE_RANK);
    const hu_shape *boxes = shape_of(graph, "boxes", BOXES_RANK);
    if (picture) {
        known->height = picture->extent[0];
        known->width = picture->extent[1];
    }
    const hu_shape *letters = shape_of(graph, "label", TEXT_RANK);
    if (boxes) known->boxes = boxes->extent[0];
    if (letters) known->letters = letters->extent[0];
    if (known->classes == 0) known->classes = classes_of_pixels(graph);
}

/* The names of the classes: characters of what is said, or others. */
static hu_status recall_names(const char *directory, hu_data_known *known, char **class_names) {
    hu_status st;
    char *path = NULL, *alphabet = NULL;
    HU_TRY(hu_path_join(directory, HU_ALPHABET_FILE, &alphabet));
    HU_TRY(hu_alphabet_read(alphabet, class_names, &known->classes));
    if (*class_names) goto done;
    HU_TRY(hu_path_join(directory, HU_CLASS_NAMES_FILE, &path));
    HU_TRY(hu_class_names_recall(path, class_names, &known->classes));
done:
    known->class_names = *class_names;
    hu_free(alphabet);
    hu_free(path);
    return st;
}

/* Both vocabularies of a run that translates are there. */
static hu_status look_for_words(const char *directory, bool *has_words) {
    char *path;
    hu_status st = hu_path_join(directory, HU_VOCABULARY_SOURCE_FILE, &path);
    *has_words = false;
    if (st == HU_OK) st = hu_file_find(path, has_words);
    hu_free(path);
    return st;
}

hu_status hu_known_read(const char *directory, bool has_other_data, hu_data_known *known,
                        char **class_names) {
    hu_status st;
    hu_graph *graph = NULL;
    bool has_words;
    *known = (hu_data_known){0};
    *class_names = NULL;
    HU_TRY(look_for_words(directory, &has_words));
    HU_TRY(recall_names(directory, known, class_names));
    /* Folders of older versions have none, and none is wanted. */
    if (hu_graph_read(directory, &graph) == HU_OK) read_shapes(graph, known);
    known->only_test = has_other_data && (has_words || known->classes > 0);
done:
    hu_graph_free(graph);
    return st;
}

static hu_status write_words(const char *directory, const char *file, const char *names,
                             int64_t count) {
    char *path;
    hu_status st = hu_path_join(directory, file, &path);
    if (st != HU_OK) return st;
    st = hu_vocabulary_write(path, names, count);
    hu_free(path);
    return st;
}

/* What the numbers of a text mean: whoever opens the run again reads it, whatever has become of the
 * text. */
static hu_status write_vocabulary(const char *directory, const hu_dataset *d) {
    hu_status st;
    HU_TRY(write_words(directory, HU_VOCABULARY_FILE, d->class_names, d->class_name_count));
    if (d->source_names)
        HU_TRY(write_words(directory, HU_VOCABULARY_SOURCE_FILE, d->source_names,
                           d->source_name_count));
done:
    return st;
}

/* The first class of an alphabet is the blank, whose name is empty. */
hu_status hu_known_write(const char *directory, const hu_dataset *dataset) {
    const char *names = dataset->class_names;
    char *path;
    if (dataset->unit != HU_TEXT_BYTES) return write_vocabulary(directory, dataset);
    if (!names) return HU_OK;
    bool is_alphabet = !names[0];
    hu_status st =
        hu_path_join(directory, is_alphabet ? HU_ALPHABET_FILE : HU_CLASS_NAMES_FILE, &path);
    if (st != HU_OK) return st;
    st = is_alphabet ? hu_alphabet_write(path, names, dataset->class_name_count)
                     : hu_class_names_write(path, names, dataset->class_name_count);
    hu_free(path);
    return st;
}
