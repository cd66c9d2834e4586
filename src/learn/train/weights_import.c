/* train/weights_import.c - weights of a file into a trainer, all of them or a part. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "precision/rules.h"
#include "store/safetensors.h"
#include "train/internal.h"
#include "train/trainer.h"
#include "train/weights.h"

enum { SHOWN = 4, LIST_BYTES = 1024 };

/* What does not fit in one way: the first few by name, all by number. */
typedef struct misfit {
    const char *what;
    char text[LIST_BYTES];
    size_t count;
} misfit;

static void add_misfit(misfit *list, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds one sentence to the first few. */
static void add_misfit(misfit *list, const char *format, ...) {
    size_t used = strlen(list->text);
    va_list args;
    if (list->count++ >= SHOWN) return;
    if (used) used += (size_t)snprintf(list->text + used, LIST_BYTES - used, ", ");
    if (used >= LIST_BYTES) return;
    va_start(args, format);
    vsnprintf(list->text + used, LIST_BYTES - used, format, args);
    va_end(args);
}

typedef struct weight_import {
    const char *path;
    const hu_graph *graph;
    const hu_import_options *options;
    hu_safetensors *file;
    hu_weight_layout layout;
    hu_weight_views *views;
    hu_weight_naming naming;
    bool *wanted;                /* [value_count] */
    const hu_safetensor **of;    /* [value_count] where the values are in the file, NULL: nowhere */
    bool *used;                  /* [arrays of the file] */
    const char **ours, **theirs; /* names for nearest ones */
    size_t ours_count, theirs_count;
    misfit missing, unexpected, shapes;
} weight_import;

static hu_status list_names(weight_import *in) {
    hu_status st;
    const hu_graph *graph = in->graph;
    size_t arrays = hu_safetensors_count(in->file);
    HU_TRY(HU_NEW_ARRAY(&in->ours, graph->value_count));
    HU_TRY(HU_NEW_ARRAY(&in->theirs, arrays));
    HU_TRY(HU_NEW_ARRAY(&in->wanted, graph->value_count));
    HU_TRY(HU_NEW_ARRAY(&in->of, graph->value_count));
    HU_TRY(HU_NEW_ARRAY(&in->used, arrays));
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (hu_is_in_weights(&graph->value[v])) in->ours[in->ours_count++] = graph->value[v].name;
    for (size_t i = 0; i < arrays; i++)
        in->theirs[in->theirs_count++] = hu_safetensors_at(in->file, i)->name;
done:
    return st;
}

/* ---- which tensors ---- */

static bool is_listed(const hu_keys *globs, const char *name) {
    for (size_t i = 0; globs && i < hu_keys_count(globs); i++)
        if (hu_glob_match(hu_keys_value(hu_keys_at(globs, i)), name)) return true;
    return false;
}

static bool has_globs(const hu_keys *globs) {
    return globs && hu_keys_count(globs) > 0;
}

/* A name of the file as globs see it: also without the prefix that all of them have. */
static bool is_listed_in_file(const weight_import *in, const hu_keys *globs, const char *name) {
    size_t length = strlen(in->naming.theirs);
    bool has_prefix = length && strncmp(name, in->naming.theirs, length) == 0;
    return is_listed(globs, name) || (has_prefix && is_listed(globs, name + length));
}

/* A glob that names nothing, here or in the file, is a slip. */
static hu_status check_globs(const weight_import *in, const hu_keys *globs) {
    char nearest[256];
    for (size_t i = 0; globs && i < hu_keys_count(globs); i++) {
        const char *glob = hu_keys_value(hu_keys_at(globs, i));
        bool is_found = false;
        for (size_t k = 0; k < in->ours_count; k++) is_found |= hu_glob_match(glob, in->ours[k]);
        for (size_t k = 0; k < in->theirs_count; k++)
            is_found |= hu_glob_match(glob, in->theirs[k]);
        if (is_found) continue;
        hu_nearest(glob, in->ours, in->ours_count, nearest, sizeof nearest);
        return hu_keys_fail(hu_keys_at(globs, i),
                            "a pattern that matches a tensor of the model or of the file "
                            "(nearest: %s)",
                            nearest);
    }
    return HU_OK;
}

static hu_status choose_wanted(weight_import *in) {
    hu_status st = HU_OK;
    const hu_import_options *o = in->options;
    if (has_globs(o->only) && has_globs(o->skip))
        return hu_fail(HU_ERR_ARGUMENT,
                       "found init.only and init.skip, expected one of them: what is not taken is "
                       "skipped");
    HU_TRY(check_globs(in, o->only));
    HU_TRY(check_globs(in, o->skip));
    for (hu_value_id v = 0; v < in->graph->value_count; v++) {
        const hu_value_info *value = &in->graph->value[v];
        bool is_chosen = !has_globs(o->only) || is_listed(o->only, value->name);
        in->wanted[v] = hu_is_in_weights(value) && is_chosen && !is_listed(o->skip, value->name);
    }
done:
    return st;
}

/* Where each tensor is in the file. What is skipped is looked for too: it is not unexpected. */
static void pair(weight_import *in) {
    char in_file[HU_NAME_BYTES];
    hu_weight_naming_find(in->graph, in->file, &in->naming);
    for (hu_value_id v = 0; v < in->graph->value_count; v++) {
        const hu_value_info *value = &in->graph->value[v];
        if (!hu_is_in_weights(value) || !hu_weight_name_in_file(&in->naming, value->name, in_file))
            continue;
        in->of[v] = hu_safetensors_find(in->file, in_file);
        if (in->of[v]) in->used[in->of[v] - hu_safetensors_at(in->file, 0)] = true;
    }
}

/* ---- whether they fit ---- */

/* A parameter must be in the file, in the right shape; a running statistic may be missing. What
 * does not fit is wanted no more. */
static void check_value(hu_value_id v, weight_import *in) {
    char nearest[256], found[176], expected[176];
    const hu_value_info *value = &in->graph->value[v];
    const hu_safetensor *tensor = in->of[v];
    hu_shape shape = hu_weight_shape(in->views, v);
    if (!tensor && value->role == HU_VALUE_PARAMETER) {
        nearest[0] = '\0';
        if (in->missing.count < SHOWN)
            hu_nearest(value->name, in->theirs, in->theirs_count, nearest, sizeof nearest);
        add_misfit(&in->missing, nearest[0] ? "'%s' (nearest: %s)" : "'%s'%s", value->name,
                   nearest);
        in->wanted[v] = false;
    }
    if (!tensor || hu_shape_equal(&tensor->shape, &shape)) return;
    hu_shape_print(&tensor->shape, found, sizeof found);
    hu_shape_print(&shape, expected, sizeof expected);
    add_misfit(&in->shapes, "'%s' found %s, expected %s", value->name, found, expected);
    in->wanted[v] = false;
}

/* torch counts the batches of a batch norm beside its other numbers. */
static bool is_batch_count(const weight_import *in, const char *name) {
    static const char counter[] = "num_batches_tracked";
    static const char *const beside[] = {"running_mean", "running_var", "weight"};
    char other[HU_NAME_BYTES];
    size_t length = strlen(name), stem = length - (sizeof counter - 1);
    if (length < sizeof counter || strcmp(name + stem, counter) != 0) return false;
    for (int i = 0; i < 3; i++) {
        if (snprintf(other, sizeof other, "%.*s%s", (int)stem, name, beside[i]) >= HU_NAME_BYTES)
            return false;
        const hu_safetensor *found = hu_safetensors_find(in->file, other);
        if (found && in->used[found - hu_safetensors_at(in->file, 0)]) return true;
    }
    return false;
}

/* An array of the file that no tensor is. */
static void check_array(size_t i, weight_import *in) {
    char nearest[256];
    const char *name = in->theirs[i];
    const hu_import_options *o = in->options;
    if (in->used[i] || is_batch_count(in, name) || is_listed_in_file(in, o->skip, name)) return;
    if (has_globs(o->only) && !is_listed_in_file(in, o->only, name)) return;
    nearest[0] = '\0';
    if (in->unexpected.count < SHOWN)
        hu_nearest(name, in->ours, in->ours_count, nearest, sizeof nearest);
    add_misfit(&in->unexpected, "'%.100s' (nearest: %s)", name, nearest);
}

/* What does not fit, the three kinds after one another. */
static void print_misfits(const weight_import *in, char text[4 * LIST_BYTES]) {
    const misfit *lists[] = {&in->missing, &in->unexpected, &in->shapes};
    text[0] = '\0';
    for (int i = 0; i < 3; i++) {
        char more[40] = "";
        size_t used = strlen(text);
        if (lists[i]->count == 0) continue;
        if (lists[i]->count > SHOWN)
            snprintf(more, sizeof more, " and %zu more", lists[i]->count - SHOWN);
        snprintf(text + used, 4 * LIST_BYTES - used, "%s%s: %s%s", used ? "; " : "", lists[i]->what,
                 lists[i]->text, more);
    }
}

/* All that does not fit is told at once, so that a user need not mend name by name. */
static hu_status check_fit(const hu_trainer *trainer, weight_import *in, hu_import_report *report) {
    char text[4 * LIST_BYTES];
    size_t fitting = 0;
    for (hu_value_id v = 0; v < in->graph->value_count; v++)
        if (in->wanted[v]) check_value(v, in);
    for (size_t i = 0; i < in->theirs_count; i++) check_array(i, in);
    for (hu_value_id v = 0; v < in->graph->value_count; v++) {
        fitting += in->wanted[v] && in->of[v];
        report->tensors += hu_is_in_weights(&in->graph->value[v]);
    }
    print_misfits(in, text);
    report->taken = fitting;
    if (in->options->is_loose) snprintf(report->left, sizeof report->left, "%s", text);
    if (!text[0] || (in->options->is_loose && fitting > 0)) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "%s: found weights that do not fit model '%s': %s", in->path,
                   trainer->options.model, text);
}

/* Without a word in the metadata the file is taken for one of torch. */
static hu_status read_layout(weight_import *in) {
    const char *text = hu_safetensors_metadata(in->file, "layout");
    in->layout = HU_WEIGHTS_TORCH;
    if (!text) return HU_OK;
    hu_status st = hu_weight_layout_parse(text, &in->layout);
    return st == HU_OK ? st : hu_fail_within(st, "%s: __metadata__: ", in->path);
}

/* ---- their numbers ---- */

/* Numbers, or codes of a format that the metadata names. */
static hu_status read_tensor(const weight_import *in, const hu_safetensor *tensor, float *x) {
    char key[HU_NAME_BYTES + sizeof HU_WEIGHT_FORMAT_KEY];
    hu_format format;
    int exponent;
    snprintf(key, sizeof key, "%s%s", HU_WEIGHT_FORMAT_KEY, tensor->name);
    const char *text = hu_safetensors_metadata(in->file, key);
    if (tensor->dtype->format || !text) return hu_safetensors_read(in->file, tensor, x);
    hu_status st = hu_weight_coding_parse(text, &format, &exponent);
    if (st != HU_OK) return hu_fail_within(st, "%s: __metadata__: %s: ", in->path, key);
    return hu_safetensors_decode(in->file, tensor, &format, exponent, x);
}

static hu_status read_value(const weight_import *in, hu_value_id v, float *scratch, float *to) {
    hu_weight_view view;
    const hu_safetensor *tensor = in->of[v];
    hu_status st = read_tensor(in, tensor, scratch);
    if (st != HU_OK) return st;
    for (size_t i = 0; i < tensor->elements; i++)
        if (!isfinite(scratch[i]))
            return hu_fail(HU_ERR_NONFINITE,
                           "%s: tensor '%s': found %g at element %zu, expected finite float32 "
                           "numbers",
                           in->path, tensor->name, (double)scratch[i], i);
    st = hu_weight_view_create(in->views, v, &view);
    if (st == HU_OK) hu_weight_turn_in(&view, scratch, to);
    hu_weight_view_free(&view);
    return st;
}

/* block: a copy of all parameters and buffers, to be overwritten; scratch as large. */
static hu_status read_block(const hu_trainer *trainer, const weight_import *in, float *block,
                            float *scratch) {
    hu_status st = HU_OK;
    for (hu_value_id v = 0; st == HU_OK && v < in->graph->value_count; v++)
        if (in->wanted[v] && in->of[v])
            st = read_value(in, v, scratch, block + trainer->weights.offset[v]);
    return st;
}

/* Of all numbers in the order of the block, or without those of tensors that are left as drawn,
 * which the seed decides. */
static uint64_t hash_of(const hu_trainer *trainer, const float *block, const bool *wanted) {
    static const hu_value_role order[] = {HU_VALUE_PARAMETER, HU_VALUE_BUFFER};
    const hu_graph *graph = trainer->graph;
    XXH64_state_t state;
    XXH64_reset(&state, 0);
    for (int i = 0; i < 2; i++)
        for (hu_value_id v = 0; v < graph->value_count; v++)
            if (graph->value[v].role == order[i] && (!wanted || wanted[v]))
                XXH64_update(&state, block + trainer->weights.offset[v],
                             (size_t)graph->value[v].elements * sizeof *block);
    return XXH64_digest(&state);
}

/* Taken over only when all was read and checked. from: where the weights come from; wanted: NULL
 * for all. */
static hu_status take_block(hu_trainer *trainer, const char *from, const float *block,
                            const bool *wanted) {
    uint64_t hash = hash_of(trainer, block, wanted), expected = trainer->options.init_hash;
    if (expected && hash != expected)
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: found weights of hash %016llx, expected those of %016llx, with which "
                       "the run was begun",
                       from, (unsigned long long)hash, (unsigned long long)expected);
    memcpy(trainer->weights.block, block, (size_t)trainer->weights.elements * sizeof *block);
    trainer->init_hash = hash;
    if (!trainer->options.keep_masters) hu_round_masters(trainer);
    return HU_OK;
}

/* in->file is open. */
static hu_status import(hu_trainer *trainer, weight_import *in, hu_import_report *report) {
    hu_status st;
    void *block = NULL, *scratch = NULL;
    size_t elements = (size_t)trainer->weights.elements;
    HU_TRY(read_layout(in));
    HU_TRY(hu_weight_views_create(in->graph, in->layout, &in->views));
    HU_TRY(list_names(in));
    HU_TRY(choose_wanted(in));
    pair(in);
    HU_TRY(check_fit(trainer, in, report));
    HU_TRY(hu_alloc_array(elements, sizeof(float), &block));
    HU_TRY(hu_alloc_array(elements, sizeof(float), &scratch));
    memcpy(block, trainer->weights.block, elements * sizeof(float));
    HU_TRY(read_block(trainer, in, block, scratch));
    HU_TRY(take_block(trainer, in->path, block, in->wanted));
done:
    hu_free(block);
    hu_free(scratch);
    return st;
}

static void close_import(weight_import *in) {
    hu_weight_views_free(in->views);
    hu_free(in->wanted);
    hu_free(in->of);
    hu_free(in->used);
    hu_free(in->ours);
    hu_free(in->theirs);
}

hu_status hu_trainer_import(hu_trainer *trainer, const char *path, hu_safetensors *file,
                            const hu_import_options *options, hu_import_report *report) {
    weight_import in = {.path = path,
                        .graph = trainer->graph,
                        .options = options,
                        .file = file,
                        .missing.what = "missing",
                        .unexpected.what = "unexpected",
                        .shapes.what = "of another shape"};
    *report = (hu_import_report){0};
    hu_status st = import(trainer, &in, report);
    snprintf(report->prefix, sizeof report->prefix, "%s", in.naming.theirs);
    report->names = hu_weight_naming_title(&in.naming);
    close_import(&in);
    return st;
}

hu_status hu_trainer_start_check(hu_trainer *trainer, const char *salt) {
    hu_status st;
    void *block = NULL, *scratch = NULL;
    hu_weight_views *views = NULL;
    const hu_graph *graph = trainer->graph;
    size_t elements = (size_t)trainer->weights.elements;
    HU_TRY(hu_weight_views_create(graph, HU_WEIGHTS_TORCH, &views));
    HU_TRY(hu_alloc_array(elements, sizeof(float), &block));
    HU_TRY(hu_alloc_array(elements, sizeof(float), &scratch));
    memcpy(block, trainer->weights.block, elements * sizeof(float));
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        if (graph->value[v].role != HU_VALUE_PARAMETER) continue;
        hu_weight_view view;
        hu_shape shape = hu_weight_shape(views, v);
        hu_check_start_fill(graph, v, &shape, salt, scratch);
        st = hu_weight_view_create(views, v, &view);
        if (st == HU_OK)
            hu_weight_turn_in(&view, scratch, (float *)block + trainer->weights.offset[v]);
        hu_weight_view_free(&view);
        if (st != HU_OK) goto done;
    }
    HU_TRY(take_block(trainer, "init=check", block, NULL));
done:
    hu_weight_views_free(views);
    hu_free(block);
    hu_free(scratch);
    return st;
}

uint64_t hu_trainer_init_hash(const hu_trainer *trainer) {
    return trainer->init_hash;
}
