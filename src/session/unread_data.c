/* session/unread_data.c - fields and counts of a data set out of a run's folder. */
#include "session/unread_data.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/fields.h"
#include "data/vocabulary.h"
#include "journal/follow.h"
#include "journal/graph.h"
#include "task/task.h"

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
