#include "settings/saved_data.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "config/config.h"
#include "data/class_names.h"
#include "data/fields.h"
#include "data/image_list.h"
#include "data/speech.h"
#include "data/vocabulary.h"
#include "runlog/graph_json.h"
#include "runlog/progress.h"
#include "runlog/run_list.h"
#include "settings/dataset.h"
#include "task/task.h"

/* ---- held images ---- */

/* The images that a run drew to test with, known again in a folder that
 * another path names. */

hu_status hu_held_out_images_write(hu_config *config, const hu_dataset *dataset,
                                   const char *directory) {
    hu_status st;
    hu_image_choice choice;
    char *text = NULL, *path = NULL;
    const char *images = hu_image_held_out_directory(dataset->name);
    if (!images || !dataset->holds_test) return HU_OK;
    HU_TRY(hu_session_image_choice(config, &choice));
    HU_TRY(hu_image_held_out_list(images, &choice, &text));
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
    bool is_present;
    char *path = NULL;
    *is_same = false;
    HU_TRY(hu_path_join(directory, HU_HELD_FILE, &path));
    HU_TRY(hu_file_find(path, &is_present));
    if (!is_present) goto done;
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
    if (st != HU_OK || hu_image_held_out_list(images, &choice, &text) != HU_OK || !text) return st;
    st = is_noted(directory, text, is_same);
    hu_free(text);
    return st;
}

hu_status hu_held_out_images_other(hu_config *config, const char *directory,
                                   const hu_listener *listener, bool *has_other_data,
                                   bool *takes_all) {
    hu_status st;
    const char *name;
    bool is_flat, is_same;
    *takes_all = false;
    HU_TRY(hu_config_text(config, "data.name", &name));
    const char *images = hu_image_held_out_directory(name);
    if (!*has_other_data || !images) return HU_OK;
    HU_TRY(hu_image_held_out_is_flat(images, &is_flat));
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

void hu_held_out_images_tell(const hu_dataset *dataset, bool takes_all,
                             const hu_listener *listener) {
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

/* ---- What a run knows of its data when it is opened again ---- */

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

/* Both vocabularies of a run that translates are present. */
static hu_status look_for_words(const char *directory, bool *has_words) {
    char *path;
    hu_status st = hu_path_join(directory, HU_VOCABULARY_SOURCE_FILE, &path);
    *has_words = false;
    if (st == HU_OK) st = hu_file_find(path, has_words);
    hu_free(path);
    return st;
}

hu_status hu_dataset_info_read(const char *directory, bool has_other_data, hu_data_known *known,
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
hu_status hu_dataset_info_write(const char *directory, const hu_dataset *dataset) {
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

/* ---- unread data ---- */

/* A run's data as its folder remembers them, without a sample: for who
 * wants the trainer's weights alone, so that they outlive the files that they were learned from. */

/* What the folder tells: classes of the target, words that are translated from (0: none), and
 * samples of each half. */
typedef struct remembered {
    hu_graph *graph; /* owned */
    const hu_task *task;
    int64_t classes, sources, train, test;
} remembered;

/* Every number of classes is an extent of some value: a larger one is no run's. */
static int64_t largest_extent(const hu_graph *graph) {
    int64_t most = 0;
    for (hu_value_id v = 0; v < graph->value_count; v++)
        for (int i = 0; i < graph->value[v].shape.rank; i++)
            if (graph->value[v].shape.extent[i] > most) most = graph->value[v].shape.extent[i];
    return most;
}

static void take_start(const json_t *row, remembered *r) {
    const char *event = json_string_value(json_object_get(row, "event"));
    const json_t *samples = json_object_get(row, "samples");
    if (!event || strcmp(event, "start") != 0 || !samples) return;
    r->classes = json_integer_value(json_object_get(row, "classes"));
    r->train = json_integer_value(json_object_get(samples, "train"));
    r->test = json_integer_value(json_object_get(samples, "test"));
}

/* The latest start counts: a run may go on with more samples. */
static hu_status read_starts(const char *directory, remembered *r) {
    hu_follow *follow = NULL;
    json_t *row = NULL;
    hu_status st;
    HU_TRY(hu_follow_open(directory, &follow));
    do {
        json_decref(row);
        HU_TRY(hu_follow_next(follow, &row));
        take_start(row, r);
    } while (row);
    if (r->train < 1 || r->test < 1 || r->classes < 0 || r->classes > largest_extent(r->graph))
        st = hu_fail(HU_ERR_MISSING, "%s: no row tells how many samples the run has learned from",
                     directory);
done:
    hu_follow_close(follow);
    return st;
}

/* Words of the language that is translated from. */
static hu_status count_sources(const hu_config *config, remembered *r) {
    const char *path;
    hu_vocabulary words = {0};
    hu_status st = hu_config_text(config, "data.source_vocabulary", &path);
    if (st != HU_OK || r->task != &hu_task_translate) return st;
    st = hu_vocabulary_read(path, HU_TEXT_WORDS, &words);
    r->sources = (int64_t)words.count;
    hu_vocabulary_free(&words);
    return st;
}

/* Extent i of a value of the graph; 0 where there is none. */
static int64_t extent_of(const hu_graph *graph, const char *name, int i) {
    hu_value_id v = hu_graph_find(graph, name);
    return v != HU_NONE && i < graph->value[v].shape.rank ? graph->value[v].shape.extent[i] : 0;
}

/* A field of the shape of its value: boxes are numbers, the rest of pictures bytes. */
static hu_status add_field(const remembered *r, const hu_task_field *of, hu_dataset *made) {
    enum { BOXES_RANK = 2 };
    hu_value_id v = hu_graph_find(r->graph, of->value);
    if (hu_dataset_find(made, of->field) >= 0) return HU_OK;
    if (of->is_mix) return v == HU_NONE ? HU_OK : hu_dataset_mix(made);
    if (v == HU_NONE || r->graph->value[v].shape.rank > HU_FIELD_RANK_MAX)
        return hu_fail(HU_ERR_MISSING, "the graph has no value '%s'", of->value);
    const hu_shape *shape = &r->graph->value[v].shape;
    hu_field *field = &made->field[made->field_count++];
    *field = (hu_field){.type = HU_FIELD_U8, .rank = shape->rank};
    strcpy(field->name, of->field);
    field->is_boxes = strcmp(of->field, "boxes") == 0 && shape->rank == BOXES_RANK;
    if (field->is_boxes) field->type = HU_FIELD_F32;
    if (shape->rank == 0) field->type = HU_FIELD_I32;
    if (of->is_target) field->classes = r->classes;
    for (int i = 0; i < shape->rank; i++) field->extent[i] = shape->extent[i];
    return HU_OK;
}

/* Rows of words and sounds have the fields of their kind. */
static hu_status set_fields(const remembered *r, hu_dataset *made) {
    const hu_task *task = r->task;
    const hu_graph *graph = r->graph;
    hu_status st = HU_OK;
    int64_t length = extent_of(graph, "tokens", 0);
    if (task == &hu_task_language)
        hu_text_fields(length, r->classes, made);
    else if (task == &hu_task_pretrain)
        hu_segment_fields(length, r->classes, made);
    else if (task == &hu_task_translate)
        hu_sentence_fields(length, r->sources, r->classes, made);
    else if (task == &hu_task_transcribe)
        hu_sound_fields(extent_of(graph, task->field[0].value, 0),
                        extent_of(graph, task->field[0].value, 1), extent_of(graph, "label", 0),
                        r->classes, made);
    for (int i = 0; st == HU_OK && made->field_count < HU_FIELDS_MAX && task->field[i].field; i++)
        st = add_field(r, &task->field[i], made);
    return st;
}

static hu_status refuse(void *context, int field, int64_t epoch, int64_t index, float *row) {
    (void)context, (void)field, (void)epoch, (void)index, (void)row;
    return hu_fail(HU_ERR_MISSING, "the samples of a run were opened to be left unread");
}

static hu_status make(const hu_config *config, const remembered *r, hu_dataset **dataset) {
    hu_status st;
    hu_dataset fields = {.field_count = 0};
    const char *name;
    bool has_streams;
    HU_TRY(set_fields(r, &fields));
    hu_sample_source train = {.size = sizeof train, .samples = r->train, .fill = refuse};
    hu_sample_source test = {.size = sizeof test, .samples = r->test, .fill = refuse};
    HU_TRY(hu_dataset_of_sources(fields.field, fields.field_count, &train, &test, dataset));
    hu_dataset *made = *dataset;
    memcpy(made->field, fields.field, sizeof fields.field); /* with their types */
    HU_TRY(hu_config_text(config, "data.name", &name));
    hu_free(made->name);
    made->name = NULL;
    HU_TRY(hu_strdup(name, &made->name));
    HU_TRY(hu_config_bool(config, "data.streams", &has_streams));
    if (has_streams) HU_TRY(hu_config_i64(config, "run.batch", &made->streams));
done:
    return st;
}

hu_status hu_unread_data_open(const hu_config *config, const char *directory,
                              hu_dataset **dataset) {
    hu_status st;
    remembered r = {0};
    const char *task;
    *dataset = NULL;
    HU_TRY(hu_config_text(config, "task.name", &task));
    HU_TRY(hu_task_find(task, &r.task));
    HU_TRY(hu_graph_read(directory, &r.graph));
    HU_TRY(read_starts(directory, &r));
    HU_TRY(count_sources(config, &r));
    HU_TRY(make(config, &r, dataset));
done:
    hu_graph_free(r.graph);
    if (st != HU_OK) {
        hu_dataset_close(*dataset);
        *dataset = NULL;
    }
    return st;
}

bool hu_unread_data_is_overruled(const hu_config *config) {
    static const char prefix[] = "data.";
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const char *name = hu_config_keys[i].name;
        if (strncmp(name, prefix, sizeof prefix - 1) == 0 && hu_config_asked(config, name))
            return true;
    }
    return false;
}

/* ---- Whether the data of a run are still those that it was trained on ---- */

/* A line for each file of both halves. */
enum { FILE_LIMIT = 1 << 28 };

/* Whether a key has another value than the run had. A folder of an older version has no word about
 * some. */
static bool is_other(const hu_keys *saved, const hu_config *config, const char *key) {
    const hu_keys *own = hu_keys_find(saved, key), *now = hu_keys_find(hu_config_tree(config), key);
    if (!own || !now) return false;
    return strcmp(hu_keys_value(own), hu_keys_value(now)) != 0;
}

/* A key that chooses samples, or says what is stored of them, and has another value; NULL: none. */
static const char *other_choice(const hu_keys *saved, const hu_config *config) {
    static const char *const choices[] = {
        "data.limit",      "data.test_limit", "data.size",    "data.crop",
        "data.scale",      "data.crops",      "data.frames",  "data.unit",
        "data.valid",      "data.length",     "data.source",  "data.target",
        "data.test",       "data.min_count",  "data.streams", "data.part",
        "data.classes",    "data.class_seed", "data.frame",   "data.unlabelled",
        "data.validation", "data.rate",       "data.labels",  "data.damaged"};
    bool has_streams = false;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (is_other(saved, config, choices[i])) return choices[i];
    hu_config_bool(config, "data.streams", &has_streams);
    return has_streams && is_other(saved, config, "run.batch") ? "run.batch" : NULL;
}

/* *key: see other_choice. */
static hu_status look_at_choices(const hu_config *config, const char *directory, const char **key) {
    char *path = NULL;
    hu_keys *saved = NULL;
    hu_status st = hu_run_folder_config(directory, &path);
    if (st == HU_OK) st = hu_yaml_read(path, &saved);
    *key = st == HU_OK ? other_choice(saved, config) : NULL;
    hu_keys_free(saved);
    hu_free(path);
    return st;
}

/* *kept NULL: the folder has none. Owner frees. */
static hu_status read_kept(const char *directory, char **kept) {
    hu_status st;
    char *path = NULL;
    uint8_t *data = NULL;
    size_t bytes;
    bool is_present;
    *kept = NULL;
    HU_TRY(hu_path_join(directory, HU_DATA_FILE, &path));
    HU_TRY(hu_file_find(path, &is_present));
    if (!is_present) goto done;
    HU_TRY(hu_file_read_plain(path, FILE_LIMIT, &data, &bytes));
    st = hu_strndup((const char *)data, bytes, kept);
done:
    hu_free(data);
    hu_free(path);
    return st;
}

static hu_status refuse_changed(const hu_dataset *dataset, const char *directory,
                                const char *what) {
    return hu_fail(HU_ERR_VERSION,
                   "data %s are not those that %s was trained on: %s; data.changed=accept goes on "
                   "with them",
                   dataset->name, directory, what);
}

static hu_status compare(const hu_config *config, const hu_dataset *dataset, const char *directory,
                         const char *kept, const hu_listener *listener, hu_changed_data *changed) {
    hu_status st;
    const char *key, *wish;
    HU_TRY(look_at_choices(config, directory, &key));
    if (key)
        hu_listener_tell(listener,
                         "%s is another than that of %s: samples are not compared with those that "
                         "it was trained on",
                         key, directory);
    HU_TRY(hu_fingerprint_compare(kept, changed->fingerprint, key != NULL, changed->what));
    if (!changed->what[0]) goto done;
    HU_TRY(hu_config_text(config, "data.changed", &wish));
    /* What was accepted once is not accepted forever. */
    if (!hu_config_asked(config, "data.changed") || strcmp(wish, "accept") != 0)
        return refuse_changed(dataset, directory, changed->what);
    hu_listener_tell(listener, "note: the data have changed, which is accepted: %s", changed->what);
done:
    return st;
}

hu_status hu_changed_data_find(const hu_config *config, const hu_dataset *dataset,
                               const char *directory, const hu_listener *listener,
                               hu_changed_data *changed) {
    hu_status st;
    char *kept = NULL;
    *changed = (hu_changed_data){0};
    HU_TRY(hu_fingerprint_make(dataset, &changed->fingerprint));
    if (!directory) goto done;
    HU_TRY(read_kept(directory, &kept));
    if (kept)
        st = compare(config, dataset, directory, kept, listener, changed);
    else
        hu_listener_tell(listener,
                         "note: %s has no " HU_DATA_FILE ": whether its data have changed is not "
                         "known",
                         directory);
done:
    hu_free(kept);
    return st;
}

hu_status hu_changed_data_write(const hu_changed_data *changed, const char *directory) {
    char *path;
    hu_status st = hu_path_join(directory, HU_DATA_FILE, &path);
    if (st != HU_OK) return st;
    st = hu_file_replace(path, changed->fingerprint, strlen(changed->fingerprint));
    hu_free(path);
    return st;
}

void hu_changed_data_free(hu_changed_data *changed) {
    hu_free(changed->fingerprint);
    *changed = (hu_changed_data){0};
}
