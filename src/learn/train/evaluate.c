#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/fields.h"
#include "data/tokenizer.h"
#include "engine/run.h"
#include "media/anchors.h"
#include "planner/planner.h"
#include "task/task.h"
#include "train/internal.h"
#include "train/trainer.h"

/* ---- greedy decode ---- */

enum { FREE_WORDS = 5 };

/* Samples on their way through the passes. */
typedef struct decoding {
    const hu_trainer *trainer;
    const hu_loader *loader;
    hu_writer *writer; /* [count] of the next pass */
    int64_t count, next;
    int64_t rows; /* words that a translation has room for */
} decoding;

static hu_status hu_greedy_decoding_create(hu_trainer *trainer, int64_t samples) {
    hu_status st = HU_OK;
    if (!trainer->task->writes) return HU_OK;
    int64_t rows = trainer->shapes.value[HU_TRANSLATION_TARGETS].extent[0];
    HU_TRY(HU_NEW_ARRAY(&trainer->room.said, (size_t)(samples * rows)));
    HU_TRY(HU_NEW_ARRAY(&trainer->room.writers, (size_t)trainer->part));
    /* Places end one by one: passes may be of any smaller number of samples. */
    for (int64_t n = 1; n < trainer->part; n++) HU_TRY(hu_run_reserve(trainer->run, n));
done:
    return st;
}

/* Room for the words of a half of so many samples, and for passes of fewer than a part has, where
 * the task writes. */
static void hu_greedy_decoding_free(hu_evaluation_scratch *room) {
    hu_free(room->said);
    hu_free(room->writers);
}

static float *said_of(const decoding *d, const hu_writer *writer) {
    return d->trainer->room.said + writer->sample * d->rows;
}

/* The sample's own numbers of a field. */
static void load(const decoding *d, uint32_t field, int64_t sample, float *row) {
    hu_loader_fill(d->loader, d->trainer->shapes.field[field],
                   d->trainer->task->field[field].reading, sample, 1, row);
}

/* row [rows]: <bos>, the words so far, and what is guessed to follow. */
static void fill_tokens(const decoding *d, const hu_writer *writer, float *row) {
    row[0] = (float)HU_SENTENCE_BEGIN;
    memcpy(row + 1, said_of(d, writer), (size_t)(d->rows - 1) * sizeof *row);
}

/* A hu_source: sample k of the pass is that of writer k. No row has a target, so that losses look
 * at none. */
static void fill(void *context, uint32_t field, int64_t first, int64_t count, float *rows) {
    const decoding *d = context;
    int64_t numbers = hu_shape_elements(&d->trainer->shapes.value[field]);
    for (int64_t k = 0; k < count; k++) {
        const hu_writer *writer = &d->writer[first + k];
        float *row = rows + k * numbers;
        if (field == HU_TRANSLATION_TOKENS)
            fill_tokens(d, writer, row);
        else if (field == HU_TRANSLATION_TARGETS)
            for (int64_t t = 0; t < d->rows; t++) row[t] = HU_UNLABELLED;
        else if (field == HU_TRANSLATION_LENGTH)
            row[0] = (float)writer->most;
        else
            load(d, field, writer->sample, row);
    }
}

/* Places that are free take up the next samples, after those that go on. */
static void take_up(decoding *d, int64_t end) {
    const hu_trainer *trainer = d->trainer;
    int64_t left = 0;
    for (int64_t k = 0; k < d->count; k++)
        if (!d->writer[k].is_done) d->writer[left++] = d->writer[k];
    for (; left < trainer->part && d->next < end; left++) {
        float length;
        hu_writer *writer = &d->writer[left];
        *writer = (hu_writer){.sample = d->next++};
        load(d, HU_TRANSLATION_SOURCE_LENGTH, writer->sample, &length);
        writer->most = 2 * (int64_t)length + FREE_WORDS;
        if (writer->most > d->rows) writer->most = d->rows;
        for (int64_t t = 0; t < d->rows; t++) said_of(d, writer)[t] = HU_SENTENCE_PADDING;
    }
    d->count = left;
}

/* The likeliest word of a row of scores; <eos> where one is NaN, which ends the translation. */
static float word_of(const decoding *d, const float *row) {
    int64_t word = hu_metric_class(d->trainer->shapes.outputs, row);
    return (float)(word < 0 ? HU_SENTENCE_END : word);
}

/* scores [rows, outputs]. The next word is that of its row; the row after it has seen this word
 * if it was guessed, and then tells one more. After the first wrong guess rows tell new ones. */
static void write_words(const decoding *d, hu_writer *writer, const float *scores) {
    float *said = said_of(d, writer);
    int64_t outputs = d->trainer->shapes.outputs, t = writer->words;
    for (bool is_right = true; t < writer->most; t++) {
        float word = word_of(d, scores + t * outputs), guess = said[t];
        writer->is_done = is_right && word == (float)HU_SENTENCE_END;
        if (writer->is_done) break;
        said[t] = word;
        writer->words += is_right;
        is_right = is_right && word == guess;
    }
    writer->is_done = writer->is_done || writer->words == writer->most;
    for (t = writer->words; writer->is_done && t < d->rows; t++) said[t] = HU_UNLABELLED;
}

/* Samples come in order: those that are wanted are written where the first writer is after them.
 */
static bool is_written(const decoding *d, int64_t wanted) {
    for (int64_t k = 0; k < d->count; k++)
        if (d->writer[k].sample < wanted) return false;
    return d->next >= wanted;
}

hu_status hu_decode(hu_trainer *trainer, hu_run *run, hu_loader *loader,
                    const hu_pass_options *pass, int64_t wanted, bool *done) {
    hu_status st = HU_OK;
    hu_pass_options own = *pass;
    hu_pass_result result;
    decoding d = {.trainer = trainer,
                  .loader = loader,
                  .writer = trainer->room.writers,
                  .rows = trainer->shapes.value[HU_TRANSLATION_TARGETS].extent[0]};
    const hu_source source = {&d, fill};
    hu_value_id made = hu_task_prediction(hu_run_graph(run));
    *done = true;
    for (take_up(&d, hu_loader_count(loader)); *done && !is_written(&d, wanted);
         take_up(&d, hu_loader_count(loader))) {
        own.samples = d.count;
        HU_TRY(hu_run_forward(run, &own, &source, &result));
        *done = !hu_run_has_unencodable(run);
        if (!*done) break;
        const float *rows = hu_run_value(run, made, d.count, trainer->room.prediction);
        for (int64_t k = 0; k < d.count; k++)
            write_words(&d, &d.writer[k], rows + k * d.rows * trainer->shapes.outputs);
    }
done:
    return st;
}

/* ---- evaluate ---- */

static void hu_evaluation_graph_end(hu_trainer *trainer, bool counts);

/* ---- sized ---- */

/* Test samples of another size than those of training: a graph of their own, whose
 * plan stands while they are evaluated. Weights, formats and scales are the trainer's. */

/* The data set as its test samples are. */
static hu_dataset as_tested(const hu_dataset *dataset) {
    hu_dataset made = *dataset;
    const hu_field *field = hu_dataset_fields(dataset, HU_SPLIT_TEST);
    for (int f = 0; f < dataset->field_count; f++) made.field[f] = field[f];
    return made;
}

/* Weights are lent by number and must fit. */
static hu_status check_parameters(const hu_graph *graph, const hu_graph *other) {
    bool is_same = graph->value_count == other->value_count &&
                   graph->use_count == other->use_count && graph->node_count == other->node_count;
    for (hu_value_id v = 0; is_same && v < graph->value_count; v++) {
        const hu_value_info *a = &graph->value[v], *b = &other->value[v];
        is_same = a->role == b->role && strcmp(a->name, b->name) == 0;
        bool is_weight = a->role == HU_VALUE_PARAMETER || a->role == HU_VALUE_BUFFER;
        if (is_weight && !hu_shape_equal(&a->shape, &b->shape)) is_same = false;
        if (!is_same && is_weight)
            return hu_fail(HU_ERR_SHAPE,
                           "'%s' has another shape for test samples than for training samples; "
                           "expected a model whose parameters do not depend on the size",
                           a->name);
    }
    if (is_same) return HU_OK;
    return hu_fail(HU_ERR_SHAPE, "the model has other layers for test samples than for training "
                                 "samples; expected the same ones for every size");
}

/* The edge tables are of graphs that differ in shapes alone. */
static hu_status plan(hu_trainer *trainer) {
    hu_evaluation_graph *sized = &trainer->tested;
    hu_run_options options = trainer->options.run;
    options.batch = options.chunk = 1;
    options.streams = trainer->options.batch;
    options.only_forward = true;
    hu_edge_table_copy(&trainer->edges, &sized->edges);
    return hu_run_create(sized->graph, &sized->edges, &trainer->weights, &options, &sized->run);
}

hu_status hu_evaluation_graph_create(hu_trainer *trainer) {
    hu_evaluation_graph *sized = &trainer->tested;
    hu_status st = HU_OK;
    hu_task_choice choice;
    if (!trainer->dataset->test.field) return HU_OK;
    hu_dataset tested = as_tested(trainer->dataset);
    HU_TRY(hu_train_network(&trainer->options, &tested, &choice, &sized->graph));
    sized->shapes = choice.shapes;
    HU_TRY(check_parameters(trainer->graph, sized->graph));
    HU_TRY(hu_edge_table_create(sized->graph, &sized->edges));
    HU_TRY(plan(trainer));
    hu_evaluation_graph_end(trainer, false);
done:
    return st;
}

void hu_evaluation_graph_free(hu_evaluation_graph *sized) {
    hu_run_free(sized->run);
    hu_edge_table_free(&sized->edges);
    hu_graph_free(sized->graph);
    *sized = (hu_evaluation_graph){0};
}

/* Scales that depend on earlier steps go on from there. */
static hu_status take_scales(const hu_run *from, hu_run *run) {
    const void *data;
    size_t bytes;
    hu_status st;
    hu_tensor_scale_history(from, &data, &bytes);
    HU_TRY(hu_tensor_scale_restore(run, data, bytes));
    hu_run_ranges(from, &data, &bytes);
    HU_TRY(hu_run_restore_ranges(run, data, bytes));
done:
    return st;
}

/* Plans a run for one sample after the other, with the formats and scales that the trainer has now.
 * Its memory is in no ledger: it is given back by hu_evaluation_graph_end. */
static hu_status hu_evaluation_graph_begin(hu_trainer *trainer) {
    hu_status st = plan(trainer);
    return st == HU_OK ? take_scales(trainer->run, trainer->tested.run) : st;
}

/* counts: what the passes have counted becomes the trainer's counts of the step. */
static void hu_evaluation_graph_end(hu_trainer *trainer, bool counts) {
    hu_evaluation_graph *sized = &trainer->tested;
    if (counts) hu_edge_table_copy(&sized->edges, &trainer->edges);
    hu_run_free(sized->run);
    sized->run = NULL;
}

/* ---- evaluate ---- */

/* What evaluation knows while the parts run. */
typedef struct evaluation {
    hu_trainer *trainer;
    hu_loader *loader;             /* of the part that is read */
    const hu_given_samples *given; /* read in its place; NULL: not */
    float *numbers;                /* predictions of given samples [count, elements] */
    bool is_sized;                 /* its samples have a run of their own (train/evaluate.c) */
    hu_run *run;                   /* who runs them, */
    int64_t part;                  /* so many at once */
    hu_metric_call call;           /* of the part that has just run */
    hu_loss_sums losses;
    bool ended;              /* no format has stopped a pass */
    int64_t wanted;          /* predictions */
    double *cells;           /* [wanted, columns] */
    float *real, *made;      /* [wanted, picture] */
    hu_sample_visitor *show; /* of wanted samples, with its context; NULL: cells are made */
    void *context;
    hu_status shown;
    bool writes; /* the model is asked to write by itself, */
    bool wrote;  /* and has done so */
    bool counts; /* all tensors, up to the first part whose loss is not finite */
} evaluation;

/* Called after the forward pass of each part: samples first .. of what is read. */
typedef void (*part_visitor)(evaluation *e, int64_t first);

/* Means (0) or log-variances (1) of a code as the pass left them. */
static const float *code_of(const evaluation *e, int which) {
    const hu_run *run = e->run;
    hu_value_id v = hu_task_code(hu_run_graph(run), which);
    if (!e->trainer->task->has_code || hu_run_has_unencodable(run)) return NULL;
    return hu_run_value(run, v, e->call.samples, e->trainer->room.code[which]);
}

/* Scores of pairs (0), which a format may have stopped, and what is true (1). */
static const float *pair_of(const evaluation *e, int which) {
    const hu_trainer *trainer = e->trainer;
    if (!trainer->task->pair || (which == 0 && hu_run_has_unencodable(e->run))) return NULL;
    return hu_run_value(e->run, hu_task_pair(hu_run_graph(e->run), which), e->call.samples,
                        which == 0 ? trainer->room.pair : NULL);
}

/* Regions that the pass has proposed. */
static const float *regions_of(const evaluation *e) {
    hu_picture picture;
    hu_value_id v = hu_task_regions_of(hu_run_graph(e->run), &picture);
    if (v == HU_NONE || hu_run_has_unencodable(e->run)) return NULL;
    return hu_run_value(e->run, v, e->call.samples, NULL);
}

/* How many rows of each sample count. */
static const float *lengths_of(const evaluation *e) {
    hu_value_id v = hu_task_lengths(hu_run_graph(e->run));
    return v == HU_NONE ? NULL : hu_run_value(e->run, v, e->call.samples, NULL);
}

/* Predictions and targets of the part that has just run; no predictions where a format stopped
 * it. */
static void read_part(evaluation *e, int64_t first, int64_t samples, const hu_pass_result *result) {
    const hu_run *run = e->run;
    const hu_graph *graph = hu_run_graph(run);
    hu_value_id made = hu_task_prediction(graph), wanted = hu_task_target_value(graph);
    e->call.samples = samples;
    e->call.target = hu_run_value(run, wanted, samples, NULL);
    e->call.prediction = hu_run_has_unencodable(run)
                             ? NULL
                             : hu_run_value(run, made, samples, e->trainer->room.prediction);
    e->call.loss_sum = hu_run_has_unencodable(run) ? (double)NAN : result->stats[0][HU_LOSS_SUM];
    e->call.units = (double)result->units[0];
    e->call.regions = regions_of(e);
    e->call.lengths = lengths_of(e);
    e->call.said = e->wrote ? e->trainer->room.said + first * e->call.rows : NULL;
    e->call.mean = code_of(e, 0);
    e->call.spread = code_of(e, 1);
    e->call.pair_scores = pair_of(e, 0);
    e->call.pair_label = pair_of(e, 1);
    e->ended = e->ended && !hu_run_has_unencodable(run);
    hu_loss_sums_add(&e->losses, result);
}

/* All samples that there are. */
static int64_t count_of(const evaluation *e) {
    return e->given ? e->given->count : hu_loader_count(e->loader);
}

/* One part: samples first .. of the loader, or of those that are given. */
static hu_status run_part(evaluation *e, hu_pass_options *pass, int64_t first,
                          hu_pass_result *result) {
    hu_status st;
    hu_batch_source batch = {e->trainer, e->loader, first, e->given};
    hu_source source = {&batch, hu_fill_batch};
    int64_t left = count_of(e) - first;
    pass->first_sample = first;
    pass->samples = hu_streams_samples(e->trainer, first, left < e->part ? left : e->part);
    if (!e->given) HU_TRY(hu_loader_want(e->loader, first, pass->samples));
    HU_TRY(hu_run_forward(e->run, pass, &source, result));
    if (!e->given) HU_TRY(hu_loader_status(e->loader));
    hu_carried_settle(e->run, first, pass->samples, !hu_run_has_unencodable(e->run));
    read_part(e, first, pass->samples, result);
done:
    return st;
}

/* Runs the samples of the loader from the first to at least number `wanted`, always in the same
 * whole parts: scales of tensors depend on what is rounded together. */
static hu_status run_parts(evaluation *e, int64_t wanted, part_visitor visit) {
    hu_status st;
    hu_trainer *trainer = e->trainer;
    hu_pass_options pass = {.use_masters = trainer->options.eval_masters,
                            .counts_all = e->counts,
                            .step = (uint64_t)trainer->progress.step};
    if (!e->given) HU_TRY(hu_loader_begin_epoch(e->loader, 0));
    /* Not counted: the counts of a step are those of its own roundings. */
    if (!pass.use_masters) hu_run_round_parameters(e->run, pass.step, false);
    if (e->writes) HU_TRY(hu_decode(trainer, e->run, e->loader, &pass, wanted, &e->wrote));
    for (int64_t first = 0; first < wanted; first += pass.samples) {
        hu_pass_result result;
        if (e->counts) hu_edge_table_clear(e->is_sized ? &trainer->tested.edges : &trainer->edges);
        HU_TRY(run_part(e, &pass, first, &result));
        if (visit) visit(e, first);
        if (e->counts && (!e->ended || !isfinite(result.loss_sum))) break;
    }
done:
    return st;
}

static hu_status visit_parts(evaluation *e, int64_t wanted, part_visitor visit) {
    hu_trainer *trainer = e->trainer;
    const hu_dataset *data = trainer->dataset;
    hu_status st = HU_OK;
    if (e->loader && e->loader == trainer->test_loader) st = hu_dataset_need_samples(&data->test);
    /* Formats are those of the step that was done last: evaluation never runs ahead of training. */
    if (st == HU_OK) st = hu_adapt_between(trainer);
    /* Behind a new plan, which has room for the sizes of the data alone. */
    if (st == HU_OK && e->given) st = hu_run_reserve(trainer->run, e->given->count % trainer->part);
    if (st == HU_OK && e->is_sized) st = hu_evaluation_graph_begin(trainer);
    e->run = e->is_sized ? trainer->tested.run : trainer->run;
    if (st == HU_OK) {
        if (trainer->options.eval_average) hu_weight_average_exchange(trainer);
        hu_carried_begin_evaluation(e->run);
        st = run_parts(e, wanted, visit);
        hu_carried_end_evaluation(e->run);
        if (trainer->options.eval_average) hu_weight_average_exchange(trainer);
    }
    if (e->is_sized) hu_evaluation_graph_end(trainer, st == HU_OK && e->counts);
    return st;
}

/* Columns of a picture; 1 of other values. */
static int64_t width_of(const hu_shape *shape) {
    return shape->rank == 3 ? shape->extent[1] : 1;
}

/* What all metrics are told of the task: rows per sample, outputs per row, and of enlarged pictures
 * the border that does not count: as many pixels as one has become along each axis. */
static hu_metric_call call_of(const hu_trainer *trainer, bool is_sized) {
    const hu_graph *graph = is_sized ? trainer->tested.graph : trainer->graph;
    const hu_value_info *made = &graph->value[hu_task_prediction(graph)];
    const hu_value_info *input = &graph->value[graph->loaded[0]];
    int64_t outputs = trainer->shapes.outputs, width = width_of(&made->shape);
    int64_t times = width / width_of(&input->shape);
    hu_value_id code = trainer->task->has_code ? hu_task_code(graph, 0) : HU_NONE;
    int64_t test = hu_loader_count(trainer->test_loader);
    int64_t held = trainer->validation_loader ? hu_loader_count(trainer->validation_loader) : 0;
    hu_metric_call call = {.rows = made->elements / outputs,
                           .outputs = outputs,
                           .code = code == HU_NONE ? 0 : graph->value[code].elements,
                           .loss = trainer->loss,
                           .anchors = hu_task_anchors(graph),
                           .targets = graph->value[hu_task_target_value(graph)].elements,
                           .whole = test > held ? test : held,
                           .width = width,
                           .border = times > 1 ? times : 0};
    hu_task_regions_of(graph, &call.picture);
    return call;
}

static evaluation evaluation_of(hu_trainer *trainer, hu_split_kind half) {
    bool is_held = half == HU_SPLIT_VALIDATION, is_sized = !is_held && trainer->tested.graph;
    evaluation e = {.trainer = trainer,
                    .loader = is_held ? trainer->validation_loader : trainer->test_loader,
                    .is_sized = is_sized,
                    .part = is_sized ? 1 : trainer->part,
                    .call = call_of(trainer, is_sized),
                    .ended = true,
                    .writes = trainer->options.eval_writes && trainer->task->writes};
    e.call.scratch = trainer->room.scratch;
    return e;
}

/* [part, numbers of a prediction], the task's scratch and the sums of every collection, of
 * whichever samples need more. */
typedef struct room_sizes {
    int64_t predictions, sums[HU_METRICS_MAX];
    size_t scratch_bytes;
} room_sizes;

static void add_sizes(const hu_trainer *trainer, bool is_sized, room_sizes *most) {
    const hu_task *task = trainer->task;
    const hu_metric_call call = call_of(trainer, is_sized);
    int64_t numbers = (is_sized ? 1 : trainer->part) * call.rows * call.outputs;
    size_t scratch_bytes = task->scratch_bytes ? task->scratch_bytes(&call) : 0;
    if (numbers > most->predictions) most->predictions = numbers;
    if (scratch_bytes > most->scratch_bytes) most->scratch_bytes = scratch_bytes;
    for (int m = 0; task->metric[m]; m++) {
        int64_t sums =
            hu_task_collection(task, m) == m ? task->metric[m]->collection->sum_count(&call) : 0;
        if (sums > most->sums[m]) most->sums[m] = sums;
    }
}

int64_t hu_trainer_classes(const hu_trainer *trainer) {
    const hu_metric_call call = call_of(trainer, false);
    for (int m = 0; trainer->task->metric[m]; m++)
        if (trainer->task->metric[m]->of_class)
            return trainer->task->metric[m]->collection->classes(&call);
    return 0;
}

/* What a half gave of each class: where it is kept. */
static double *const *by_class(const hu_evaluation_scratch *room, hu_split_kind half) {
    return room->by_class[half == HU_SPLIT_VALIDATION];
}

const double *hu_trainer_class_metric(const hu_trainer *trainer, hu_split_kind half, int m) {
    return by_class(&trainer->room, half)[m];
}

/* All NaN. */
static hu_status make_class_rooms(hu_trainer *trainer) {
    hu_status st = HU_OK;
    int64_t classes = hu_trainer_classes(trainer);
    for (int m = 0; trainer->task->metric[m]; m++)
        for (int h = 0; trainer->task->metric[m]->of_class && h < 2; h++) {
            double **made = &trainer->room.by_class[h][m];
            HU_TRY(HU_NEW_ARRAY(made, (size_t)classes));
            for (int64_t c = 0; c < classes; c++) (*made)[c] = (double)NAN;
        }
done:
    return st;
}

hu_status hu_evaluation_scratch_create(hu_trainer *trainer) {
    hu_status st = HU_OK;
    hu_metric_call call = call_of(trainer, false);
    hu_evaluation_scratch *room = &trainer->room;
    room_sizes most = {0};
    add_sizes(trainer, false, &most);
    if (trainer->tested.graph) add_sizes(trainer, true, &most);
    HU_TRY(HU_NEW_ARRAY(&room->prediction, (size_t)most.predictions));
    HU_TRY(hu_alloc(most.scratch_bytes, &room->scratch));
    for (int i = 0; call.code > 0 && i < 2; i++)
        HU_TRY(HU_NEW_ARRAY(&room->code[i], (size_t)(trainer->part * call.code)));
    HU_TRY(hu_greedy_decoding_create(trainer, call.whole));
    if (trainer->task->pair) HU_TRY(HU_NEW_ARRAY(&room->pair, (size_t)(2 * trainer->part)));
    HU_TRY(make_class_rooms(trainer));
    for (int m = 0; trainer->task->metric[m]; m++) {
        room->test[m] = NAN;
        if (most.sums[m] > 0) HU_TRY(HU_NEW_ARRAY(&room->sums[m], (size_t)most.sums[m]));
    }
done:
    return st;
}

void hu_evaluation_scratch_free(hu_evaluation_scratch *room) {
    hu_free(room->prediction);
    hu_free(room->scratch);
    hu_greedy_decoding_free(room);
    hu_free(room->pair);
    for (int i = 0; i < 2; i++) hu_free(room->code[i]);
    for (int m = 0; m < HU_METRICS_MAX; m++) {
        hu_free(room->sums[m]);
        for (int h = 0; h < 2; h++) hu_free(room->by_class[h][m]);
    }
}

/* Collection number m of the task: that of its metric m, NULL where an earlier metric has the same.
 */
static const hu_collection *collection_of(const hu_task *task, int m) {
    return hu_task_collection(task, m) == m ? task->metric[m]->collection : NULL;
}

/* Sums are kept between the parts, in the order of the samples. */
static void clear_sums(const hu_trainer *trainer, const hu_metric_call *call) {
    for (int m = 0; trainer->task->metric[m]; m++) {
        const hu_collection *collection = collection_of(trainer->task, m);
        if (collection) hu_collection_clear(collection, call, trainer->room.sums[m]);
    }
}

static void add_cells(evaluation *e, int64_t first);

/* All collections of the task in one walk over the samples, which somebody may be shown. */
static void add_sums(evaluation *e, int64_t first) {
    const hu_trainer *trainer = e->trainer;
    if (e->show) add_cells(e, first);
    for (int m = 0; trainer->task->metric[m]; m++) {
        const hu_collection *collection = collection_of(trainer->task, m);
        if (collection) collection->add(&e->call, trainer->room.sums[m]);
    }
}

static void finish_sums(const hu_trainer *trainer, const hu_metric_call *call) {
    for (int m = 0; trainer->task->metric[m]; m++) {
        const hu_collection *collection = collection_of(trainer->task, m);
        if (collection && collection->finish) collection->finish(call, trainer->room.sums[m]);
    }
}

static void note_classes(hu_trainer *trainer, hu_split_kind half, int m, const hu_metric_call *call,
                         const double *sums) {
    const hu_metric *metric = trainer->task->metric[m];
    double *made = by_class(&trainer->room, half)[m];
    for (int64_t c = 0; made && c < metric->collection->classes(call); c++)
        made[c] = metric->of_class(call, sums, c);
}

hu_status hu_trainer_evaluate_shown(hu_trainer *trainer, hu_split_kind half,
                                    hu_sample_visitor *show, void *context, double *metrics,
                                    double *loss) {
    evaluation e = evaluation_of(trainer, half);
    e.show = show;
    e.context = context;
    e.wanted = hu_trainer_samples(trainer, half);
    if (!e.loader)
        return hu_fail(HU_ERR_ARGUMENT, "found no validation samples, expected data.validation=N "
                                        "to hold some out of the training samples");
    clear_sums(trainer, &e.call);
    hu_status st = visit_parts(&e, hu_loader_count(e.loader), add_sums);
    if (st == HU_OK) st = e.shown;
    finish_sums(trainer, &e.call);
    for (int m = 0; trainer->task->metric[m]; m++) {
        const double *sums = trainer->room.sums[hu_task_collection(trainer->task, m)];
        metrics[m] = hu_metric_value(trainer->task->metric[m], &e.call, sums);
        note_classes(trainer, half, m, &e.call, sums);
        if (half == HU_SPLIT_TEST) trainer->room.test[m] = metrics[m];
    }
    *loss = e.ended ? hu_loss_sums_total(&e.losses, trainer->graph, trainer->task) : (double)NAN;
    return st;
}

hu_status hu_trainer_evaluate_on(hu_trainer *trainer, hu_split_kind half, double *metrics,
                                 double *loss) {
    return hu_trainer_evaluate_shown(trainer, half, NULL, NULL, metrics, loss);
}

hu_status hu_trainer_evaluate(hu_trainer *trainer, double *metrics, double *loss) {
    return hu_trainer_evaluate_on(trainer, HU_SPLIT_TEST, metrics, loss);
}

hu_status hu_trainer_count_evaluation(hu_trainer *trainer, hu_split_kind half) {
    bool is_held = half == HU_SPLIT_VALIDATION && trainer->validation_loader;
    evaluation e = evaluation_of(trainer, is_held ? half : HU_SPLIT_TEST);
    e.counts = true;
    e.writes = false;
    return visit_parts(&e, hu_loader_count(e.loader), NULL);
}

/* Sample i of the part that has just run, alone. */
static hu_metric_call sample_of(const evaluation *e, int64_t i) {
    hu_metric_call sample = e->call;
    sample.samples = 1;
    sample.loss_sum = (double)NAN;
    sample.units = 0.0;
    if (sample.prediction) sample.prediction += i * sample.rows * sample.outputs;
    sample.target += i * sample.targets;
    if (sample.regions) sample.regions += i * sample.rows * HU_REGION_NUMBERS;
    if (sample.lengths) sample.lengths += i;
    if (sample.said) sample.said += i * sample.rows;
    if (sample.mean) sample.mean += i * sample.code;
    if (sample.spread) sample.spread += i * sample.code;
    if (sample.pair_scores) sample.pair_scores += 2 * i;
    if (sample.pair_label) sample.pair_label += i;
    return sample;
}

/* Describes sample by sample: the cells of each are one row. */
static void add_cells(evaluation *e, int64_t first) {
    const hu_task *task = e->trainer->task;
    int columns = hu_task_column_count(task);
    for (int64_t i = 0; i < e->call.samples && first + i < e->wanted; i++) {
        const hu_metric_call sample = sample_of(e, i);
        if (!e->show)
            task->describe(&sample, e->cells + (first + i) * columns);
        else if (e->shown == HU_OK)
            e->shown = e->show(e->context, first + i, &sample, e->loader);
    }
}

static hu_status visit_first(evaluation *e, int64_t count) {
    int64_t samples = hu_loader_count(e->loader);
    if (count < 0 || count > samples)
        return hu_fail(HU_ERR_ARGUMENT, "%lld predictions, expected 0 to %lld", (long long)count,
                       (long long)samples);
    e->wanted = count;
    hu_status st = visit_parts(e, count, add_cells);
    return st == HU_OK ? e->shown : st;
}

hu_status hu_trainer_predict(hu_trainer *trainer, int64_t count, double *cells) {
    evaluation e = evaluation_of(trainer, HU_SPLIT_TEST);
    e.cells = cells;
    return visit_first(&e, count);
}

hu_status hu_trainer_show(hu_trainer *trainer, int64_t count, hu_sample_visitor *show,
                          void *context) {
    evaluation e = evaluation_of(trainer, HU_SPLIT_TEST);
    e.show = show;
    e.context = context;
    return visit_first(&e, count);
}

const hu_shape *hu_trainer_picture(const hu_trainer *trainer) {
    hu_value_id target = hu_task_target_value(trainer->graph);
    if (trainer->task->draw) return &trainer->shapes.value[0];
    return trainer->task->is_picture ? &trainer->graph->value[target].shape : NULL;
}

int64_t hu_trainer_samples(const hu_trainer *trainer, hu_split_kind half) {
    const hu_loader *loader =
        half == HU_SPLIT_VALIDATION ? trainer->validation_loader : trainer->test_loader;
    return loader ? hu_loader_count(loader) : 0;
}

int64_t hu_trainer_places(const hu_trainer *trainer) {
    return trainer->task->place ? trainer->shapes.value[0].extent[0] : 1;
}

/* Pictures of -1..1 are drawn as 0..1. */
static float shade(const evaluation *e, float x) {
    return e->trainer->task->is_signed ? (x + 1.0f) / 2.0f : x;
}

/* Numbers of the head mean what the loss says. */
static void add_pictures(evaluation *e, int64_t first) {
    int64_t numbers = e->call.rows * e->call.outputs, left = e->wanted - first;
    int64_t count = (left < e->call.samples ? left : e->call.samples) * numbers;
    for (int64_t i = 0; i < count; i++) {
        double made = e->call.prediction ? (double)e->call.prediction[i] : (double)NAN;
        if (e->call.prediction && e->call.loss->predicted) made = e->call.loss->predicted(made);
        e->made[first * numbers + i] = shade(e, (float)made);
        e->real[first * numbers + i] = shade(e, e->call.target[i]);
    }
}

/* What is true and what is said, drawn over the picture itself. */
static void add_drawings(evaluation *e, int64_t first) {
    const hu_trainer *trainer = e->trainer;
    const hu_shape *picture = hu_trainer_picture(trainer);
    int64_t numbers = hu_shape_elements(picture), left = e->wanted - first;
    int64_t count = left < e->call.samples ? left : e->call.samples;
    float *real = e->real + first * numbers, *made = e->made + first * numbers;
    if (count < 1) return;
    hu_loader_fill(e->loader, trainer->shapes.field[0], HU_READ_UNIT, first, count, real);
    memcpy(made, real, (size_t)(count * numbers) * sizeof *made);
    for (int64_t i = 0; i < count; i++) {
        hu_metric_call sample = sample_of(e, i);
        trainer->task->draw(&sample, picture, real + i * numbers, made + i * numbers);
    }
}

hu_status hu_trainer_draw(hu_trainer *trainer, hu_split_kind half, int64_t count, float *real,
                          float *made) {
    evaluation e = evaluation_of(trainer, half);
    e.wanted = count;
    e.real = real;
    e.made = made;
    return visit_parts(&e, count, trainer->task->draw ? add_drawings : add_pictures);
}

/* Of the part that has just run. */
static void add_numbers(evaluation *e, int64_t first) {
    int64_t elements = e->call.rows * e->call.outputs, count = e->call.samples * elements;
    float *made = e->numbers + first * elements;
    if (e->call.prediction) memcpy(made, e->call.prediction, (size_t)count * sizeof *made);
    for (int64_t i = 0; !e->call.prediction && i < count; i++) made[i] = NAN;
}

int64_t hu_trainer_prediction_elements(const hu_trainer *trainer) {
    return trainer->graph->value[hu_task_prediction(trainer->graph)].elements;
}

/* Samples of the training's size, of which the last part may have any number. */
hu_status hu_trainer_predict_given(hu_trainer *trainer, const hu_given_samples *given,
                                   float *predictions, double *loss) {
    hu_status st = HU_OK;
    evaluation e = evaluation_of(trainer, HU_SPLIT_VALIDATION);
    e.loader = NULL;
    e.given = given;
    e.numbers = predictions;
    e.writes = false;
    *loss = NAN;
    HU_TRY(hu_check_given_ids(trainer, given));
    HU_TRY(visit_parts(&e, given->count, add_numbers));
    if (e.ended) *loss = hu_loss_sums_total(&e.losses, trainer->graph, trainer->task);
done:
    return st;
}
