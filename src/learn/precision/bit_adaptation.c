#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "precision/adaptation.h"
#include "precision/bits.h"
#include "precision/internal.h"

/* ---- adapt bits ---- */

/* Numbers of bits by layer and step: what a schedule of bits (precision/bit_schedule.c) asks for
 * comes true before a step, in the room that the run was planned with. */

/* What a checkpoint begins with, whatever the schedule: a resumed run has the same bits to choose
 * from. After it the schedule's own state, if it has one. */
enum { SCHEDULE_BYTES = 16 };
typedef struct saved_head {
    char schedule[SCHEDULE_BYTES];
    uint32_t kind, exponent_bits, follows;
    hu_bits_range forward, gradient;
} saved_head;

typedef struct course {
    hu_bits_task task;
    hu_bits_layers layers;
    hu_bits_course begun;
    const hu_graph *graph;       /* Borrowed: valid as long as the training */
    uint8_t *forward, *gradient; /* [layers] of the table */
    uint8_t *wanted;             /* [2 layers] */
    double *residual;            /* [layers] */
    hu_bits_meter meter;
    size_t state_bytes; /* that the schedule saves */
    saved_head *saved;  /* with room for these after it */
} course;

static void free_course(void *state) {
    course *c = state;
    hu_bits_end(&c->begun);
    hu_bits_meter_free(&c->meter);
    hu_bits_layers_free(&c->layers);
    hu_free(c->forward);
    hu_free(c->wanted);
    hu_free(c->residual);
    hu_free(c->saved);
    hu_free(c);
}

static saved_head head_of(const hu_bits *bits) {
    saved_head head = {.kind = bits->kind,
                       .exponent_bits = bits->kind == HU_BITS_FLOAT ? bits->exponent_bits : 0,
                       .follows = bits->gradient_follows,
                       .forward = bits->forward,
                       .gradient = bits->gradient_follows ? bits->forward : bits->gradient};
    strncpy(head.schedule, bits->schedule->name, sizeof head.schedule - 1);
    return head;
}

/* Room for what checkpoints hold: later there is no allocation. */
static hu_status make_room(course *c) {
    const hu_bits_schedule *schedule = c->begun.schedule;
    const void *state;
    void *block;
    if (schedule->save) schedule->save(c->begun.state, &state, &c->state_bytes);
    hu_status st = hu_alloc(sizeof(saved_head) + c->state_bytes, &block);
    if (st != HU_OK) return st;
    c->saved = block;
    *c->saved = head_of(c->task.bits);
    return HU_OK;
}

/* A training whose schedule cannot be followed is refused here, before it is planned. */
static hu_status create(const hu_adapt_task *task, void **state) {
    hu_status st = HU_OK;
    const hu_bits *bits = &hu_precision_at(task->precision, 0)->bits;
    course *c = NULL;
    *state = NULL;
    if (!bits->schedule) return HU_OK;
    HU_TRY(HU_NEW(&c));
    HU_TRY(hu_bits_layers_create(task->graph, bits, &c->layers));
    size_t layers = c->layers.count;
    c->graph = task->graph;
    c->task = (hu_bits_task){bits,      &c->layers, task->batch, task->steps, task->steps_per_epoch,
                             task->seed};
    HU_TRY(HU_NEW_ARRAY(&c->forward, 2 * layers));
    HU_TRY(HU_NEW_ARRAY(&c->wanted, 2 * layers));
    HU_TRY(HU_NEW_ARRAY(&c->residual, layers));
    c->gradient = c->forward + layers;
    HU_TRY(hu_bits_begin(&c->task, &c->begun));
    HU_TRY(hu_bits_meter_create(&c->task, &c->meter));
    if (c->begun.schedule->learned) c->meter.beta = c->begun.schedule->learned(c->begun.state);
    HU_TRY(make_room(c));
    *state = c;
    c = NULL;
done:
    if (c) free_course(c);
    return st;
}

static void widen_norm(void *context, uint32_t l, hu_edge *input, hu_edge *gradient) {
    const course *c = context;
    const hu_bits_layer *layer = &c->layers.layer[l];
    input->capacity_bits = hu_bits_most(c->task.bits, layer);
    gradient->capacity_bits = hu_bits_most_gradient(c->task.bits, layer);
}

static void widen(const void *state, const hu_graph *graph, hu_edge_table *edges) {
    const course *c = state;
    const hu_bits *bits = c->task.bits;
    uint8_t *most = c->wanted; /* of which nothing is known yet */
    for (uint32_t l = 0; l < c->layers.count; l++)
        most[l] = (uint8_t)hu_bits_most(bits, &c->layers.layer[l]);
    for (uint32_t l = 0; l < c->layers.count; l++) {
        const hu_bits_layer *layer = &c->layers.layer[l];
        if (!layer->is_quantised) continue;
        hu_bits_records r = hu_bits_records_of(graph, layer, edges);
        r.input->capacity_bits = most[l];
        r.weight->capacity_bits = hu_bits_of_weights(&c->layers, most, l);
        r.gradient->capacity_bits = hu_bits_most_gradient(bits, layer);
        r.input->learns = r.weight->learns = c->begun.schedule->wants_residuals;
        r.input->residual_bits = bits->residual_bits;
        if (!layer->has_weights) r.weight->residual_bits = bits->residual_bits;
    }
    hu_bits_each_norm(bits, &c->layers, graph, edges, widen_norm, (void *)c);
}

/* Changes are told by bits.jsonl, from the meter. */
static uint32_t most_events(const hu_graph *graph) {
    (void)graph;
    return 0;
}

static void before_step(void *state, hu_adapt_moment *moment) {
    course *c = state;
    size_t layers = c->layers.count;
    if (moment->is_between)
        hu_bits_deployed(&c->begun, moment->done, c->wanted, c->wanted + layers);
    else
        c->begun.schedule->at(c->begun.state, moment->step, c->wanted, c->wanted + layers);
    if (!moment->rewritten && memcmp(c->wanted, c->forward, 2 * layers) == 0) return;
    memcpy(c->forward, c->wanted, 2 * layers);
    hu_bits_write(c->task.bits, &c->layers, moment->graph, c->forward, c->gradient, moment->edges);
    moment->rewritten = true;
}

/* What the loss says of the bits, in units of the loss itself. Weights that several layers share
 * speak of those whose bits they have. */
static void read_residuals(course *c, const hu_adapt_moment *moment) {
    for (uint32_t l = 0; l < c->layers.count; l++) {
        if (!c->layers.layer[l].is_quantised) continue;
        hu_bits_records r = hu_bits_records_of(c->graph, &c->layers.layer[l], moment->edges);
        bool has_its_bits = c->forward[l] == hu_bits_of_weights(&c->layers, c->forward, l);
        double of_weights = has_its_bits ? r.weight->sensitivity : 0.0;
        c->residual[l] = (r.input->sensitivity + of_weights) / (double)moment->scale;
    }
}

static void after_step(void *state, hu_adapt_moment *moment) {
    course *c = state;
    const hu_bits_schedule *schedule = c->begun.schedule;
    size_t layers = c->layers.count;
    hu_bits_news news = {.step = moment->step,
                         .samples = moment->samples,
                         .loss = moment->loss,
                         .is_skipped = moment->is_skipped,
                         .residual = c->residual};
    hu_bits_meter_note(&c->meter, c->forward, c->gradient, moment->samples);
    if (schedule->wants_residuals) read_residuals(c, moment);
    if (schedule->after_step) schedule->after_step(c->begun.state, &news);
    schedule->at(c->begun.state, moment->step + 1, c->wanted, c->wanted + layers);
    moment->changes_next = moment->changes_next || memcmp(c->wanted, c->forward, 2 * layers) != 0;
}

static void save(const void *state, const void **data, size_t *bytes) {
    const course *c = state;
    const void *own = NULL;
    if (c->state_bytes > 0) {
        c->begun.schedule->save(c->begun.state, &own, bytes);
        memcpy(c->saved + 1, own, c->state_bytes);
    }
    *data = c->saved;
    *bytes = sizeof(saved_head) + c->state_bytes;
}

enum { WORDS_BYTES = 96 };

/* "cpt with integers of 3-8 bits, gradients of 8-8" */
static void print_head(const saved_head *head, char words[WORDS_BYTES]) {
    char numbers[SCHEDULE_BYTES + HU_BITS_NAME_BYTES] = "integers";
    if (head->kind == HU_BITS_FLOAT)
        snprintf(numbers, sizeof numbers, "floats e%u", head->exponent_bits);
    snprintf(words, WORDS_BYTES, "%.15s with %s of %u-%u bits, gradients of %u-%u", head->schedule,
             numbers, head->forward.least, head->forward.most, head->gradient.least,
             head->gradient.most);
}

static hu_status check(const void *state, const hu_graph *graph, const void *data, size_t bytes) {
    const course *c = state;
    saved_head found;
    char words[2][WORDS_BYTES];
    (void)graph;
    if (bytes < sizeof found)
        return hu_fail(HU_ERR_CORRUPT, "found %zu bytes, expected %zu", bytes,
                       sizeof found + c->state_bytes);
    memcpy(&found, data, sizeof found);
    if (memcmp(&found, c->saved, sizeof found) != 0) {
        print_head(&found, words[0]);
        print_head(c->saved, words[1]);
        return hu_fail(HU_ERR_ARGUMENT, "found the state of %s, expected that of %s", words[0],
                       words[1]);
    }
    bytes -= sizeof found;
    if (c->begun.schedule->check)
        return c->begun.schedule->check(c->begun.state, (const char *)data + sizeof found, bytes);
    return bytes == 0
               ? HU_OK
               : hu_fail(HU_ERR_CORRUPT, "found %zu bytes behind the head, expected none", bytes);
}

/* 0 bytes: no step was done, which is how the state began. */
static void restore(void *state, const void *data, size_t bytes) {
    course *c = state;
    if (bytes > sizeof(saved_head))
        c->begun.schedule->restore(c->begun.state, (const char *)data + sizeof(saved_head),
                                   bytes - sizeof(saved_head));
}

/* The state of the row of the table that this file is. */
static course *course_of(const hu_adaptations *adaptations) {
    for (int a = 0; a < HU_ADAPTATION_COUNT; a++)
        if (hu_adaptation_table[a] == &hu_adaptation_bits) return adaptations->state[a];
    return NULL;
}

hu_bits_meter *hu_bits_meter_of(const hu_adaptations *adaptations) {
    course *c = course_of(adaptations);
    return c ? &c->meter : NULL;
}

void hu_bits_trained(const hu_adaptations *adaptations, int64_t steps, uint8_t *forward) {
    course *c = course_of(adaptations);
    hu_bits_deployed(&c->begun, steps, c->wanted, c->wanted + c->layers.count);
    memcpy(forward, c->wanted, c->layers.count);
}

const hu_adaptation hu_adaptation_bits = {
    .name = "bits",
    .help = "numbers of bits by layer and step, by a schedule or learned",
    .keys = "precision.name",
    .asked = "a schedule of bits",
    .section = "bits",
    .create = create,
    .free = free_course,
    .widen = widen,
    .most_events = most_events,
    .before_step = before_step,
    .after_step = after_step,
    .save = save,
    .check = check,
    .restore = restore};
