/* halfulp plan: what a training would compute and hold, layer by layer and byte by byte, without
 * training. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "bench/plan_costs.h"
#include "cli/internal.h"
#include "cli/verb.h"
#include "config/unused_keys.h"
#include "planner/planner.h"
#include "render/json.h"
#include "render/table.h"
#include "report/plan.h"
#include "runlog/plan_json.h"
#include "settings/messages.h"
#include "settings/options.h"
#include "settings/planned.h"
#include "train/trainer.h"

enum { STORAGES = 2 };

/* The storages that are planned, one after the other: packed or dense, as was asked, which gives
 * the layers, then float32. */
static hu_storage_mode storage_at(const hu_train_options *asked, int index) {
    if (index > 0) return HU_STORAGE_FLOAT32;
    return asked->run.storage == HU_STORAGE_DENSE ? HU_STORAGE_DENSE : HU_STORAGE_PACKED;
}

static const char *storage_word(const hu_train_options *asked) {
    return storage_at(asked, 0) == HU_STORAGE_DENSE ? "dense" : "packed";
}

/* What the plans say; filled storage by storage, since only one is in memory at a time. */
typedef struct planning {
    hu_config *config;
    bool as_json;
    hu_planned planned;
    int64_t parameters, macs, tensor_elements, aggregate_bits;
    double low_ratio;
    json_t *layers, *groups, *networks, *warnings, *phases, *ledger[STORAGES];
    char *table, *group_table, *operand_table, notes[1024], products[HU_PLAN_PRODUCTS_BYTES],
        gaps[HU_GAPS_BYTES];
} planning;

/* What does not depend on storage: layers, groups, phases, warnings. */
static hu_status keep_layers(planning *plan, const hu_trainer *trainer) {
    hu_status st = HU_OK;
    hu_table *table = NULL, *groups = NULL, *operands = NULL;
    const hu_run *run = hu_trainer_run(trainer);
    const hu_graph *graph = hu_run_graph(run);
    plan->parameters = hu_graph_parameters(graph);
    plan->macs = hu_graph_macs(graph);
    plan->networks = hu_plan_networks_json(graph);
    plan->tensor_elements =
        hu_precision_tensor_elements(graph, hu_run_edges(run), plan->planned.options.batch);
    plan->aggregate_bits =
        hu_precision_aggregate_bits(graph, hu_run_edges(run), plan->planned.options.batch);
    plan->low_ratio = hu_trainer_low_ratio(trainer);
    plan->layers = hu_plan_layers_json(run);
    plan->phases =
        hu_plan_phases_json(&plan->planned.precision, hu_trainer_steps_per_epoch(trainer));
    plan->warnings = hu_warnings_json(run);
    json_t *all = hu_plan_json(graph, hu_run_edges(run), plan->planned.options.batch);
    plan->groups = json_incref(json_object_get(all, "groups"));
    json_decref(all);
    /* On stderr, also with --json: the object holds them as well. */
    hu_warnings_tell(run, &hu_progress_messages);
    HU_TRY(hu_network_tell(plan->config, &plan->planned.options, hu_planned_dataset(&plan->planned),
                           graph, &hu_progress_messages));
    hu_options_tell_names(plan->config, graph, &hu_progress_messages);
    hu_options_tell_precision(plan->config, &plan->planned.precision, graph, hu_run_edges(run),
                              &hu_progress_messages);
    HU_TRY(hu_options_tell_bits(plan->config, trainer, &hu_progress_messages));
    if (!plan->as_json) {
        HU_TRY(hu_plan_layers_table(run, &table));
        HU_TRY(hu_table_print(table, &plan->table));
        HU_TRY(
            hu_plan_groups_table(graph, hu_run_edges(run), plan->planned.options.batch, &groups));
        HU_TRY(hu_table_print(groups, &plan->group_table));
        HU_TRY(hu_plan_operands_table(run, &operands));
        if (operands) HU_TRY(hu_table_print(operands, &plan->operand_table));
        hu_plan_format_notes(run, true, plan->notes, sizeof plan->notes);
        (void)hu_gaps_words(run, plan->gaps);
        (void)hu_plan_products_words(run, plan->planned.options.run.products == HU_ENGINE_FASTEST,
                                     plan->products);
    }
done:
    hu_table_free(table);
    hu_table_free(groups);
    hu_table_free(operands);
    return st;
}

/* A plan file has no phases: of a list by epoch it holds the beginning. */
static void tell_written(const planning *plan, const char *path) {
    if (plan->planned.precision.phase_count > 1)
        fprintf(stderr,
                "%s holds the formats of the first phase alone, %s: a plan file has no epochs; "
                "train with precision.epochs itself\n",
                path, plan->planned.precision.phases[0].precision.name);
    else
        fprintf(stderr, "wrote the plan %s\n", path);
}

/* out=FILE: the formats of all tensors by name. */
static hu_status write_resolved(const planning *plan, hu_trainer *trainer) {
    hu_status st = HU_OK;
    char *yaml = NULL;
    const char *path;
    HU_TRY(hu_config_text(plan->config, "out.file", &path));
    if (strcmp(path, "auto") == 0) return HU_OK;
    if (!path[0]) return hu_fail(HU_ERR_ARGUMENT, "out: found '', expected a file");
    HU_TRY(hu_trainer_resolved_plan(trainer, &yaml));
    HU_TRY(hu_file_replace(path, yaml, strlen(yaml)));
    tell_written(plan, path);
done:
    hu_free(yaml);
    return st;
}

/* Plans with one storage and keeps the numbers; the memory is given back before the next. It is
 * counted and never filled: the machine need not have it. */
static hu_status plan_storage(planning *plan, int index) {
    hu_status st = HU_OK;
    hu_memory_only_counts(true);
    hu_trainer *trainer = NULL;
    hu_train_options options = plan->planned.options;
    options.run.storage = storage_at(&plan->planned.options, index);
    options.run.is_plan = true;
    HU_TRY(hu_trainer_create(&options, hu_planned_dataset(&plan->planned), &trainer));
    hu_ledger ledger = hu_trainer_ledger(trainer);
    plan->ledger[index] = hu_ledger_json(&ledger);
    /* Formats and work are the same in every storage, so the first tells them. */
    if (index == 0) HU_TRY(keep_layers(plan, trainer));
    if (index == 0) HU_TRY(write_resolved(plan, trainer));
done:
    hu_trainer_free(trainer);
    hu_memory_only_counts(false);
    return st;
}

/* ---- output ---- */

static json_t *recompute_json(int level) {
    return level > 1 ? json_integer(level) : json_boolean(level);
}

/* Field by field what print_text says in sentences; memory in bytes. */
static hu_status print_json(const planning *plan) {
    hu_status st = HU_OK;
    const char *precision, *accumulator;
    char assumed[HU_ASSUMED_TEXT_BYTES];
    const hu_dataset *data = hu_planned_dataset(&plan->planned);
    const int64_t *image = data->field[HU_FIELD_IMAGE].extent;
    const hu_train_options *options = &plan->planned.options;
    HU_TRY(hu_config_text(plan->config, "precision.name", &precision));
    HU_TRY(hu_config_text(plan->config, "accumulator.name", &accumulator));
    st = hu_json_print(json_pack(
        "{s:s, s:o, s:[I, I, I], s:I, s:s, s:s, s:I, s:I, s:i, s:b, s:o, s:I, s:I, s:I, s:o, s:I, "
        "s:o, s:O, s:O, s:O, s:O, s:O*, s:s*}",
        "model", options->model, "width", hu_json_number(options->width), "image",
        (json_int_t)image[0], (json_int_t)image[1], (json_int_t)image[2], "classes",
        (json_int_t)hu_task_classes(options->task, data), "precision", precision, "accumulator",
        accumulator, "batch", (json_int_t)options->batch, "chunk", (json_int_t)options->run.chunk,
        "threads", options->run.threads, "fuse", options->run.fuse, "recompute",
        recompute_json(options->run.recompute), "parameters", (json_int_t)plan->parameters, "macs",
        (json_int_t)plan->macs, "tensor_elements", (json_int_t)plan->tensor_elements,
        "low_precision_ratio", hu_json_number(plan->low_ratio), "model_aggregate_bits",
        (json_int_t)plan->aggregate_bits, "memory_bytes",
        hu_plan_memory_json(plan->ledger[0], plan->ledger[1], storage_word(options)), "groups",
        plan->groups, "layers", plan->layers, "warnings", plan->warnings, "phases", plan->phases,
        "networks", plan->networks, "assumed",
        hu_planned_assumed(&plan->planned, plan->config, assumed)));
done:
    return st;
}

/* Which precision begins when; the layers are those of the first. */
static void print_phases(const planning *plan) {
    size_t i;
    json_t *phase;
    if (plan->planned.precision.phase_count == 0) return;
    json_array_foreach(plan->phases, i, phase)
        printf("%s%s from epoch %lld (step %lld) on",
               i ? ", " : "\nprecision: ", json_string_value(json_object_get(phase, "precision")),
               (long long)json_integer_value(json_object_get(phase, "epoch")),
               (long long)json_integer_value(json_object_get(phase, "step")));
    puts("; formats, bits and groups above are those of the first");
}

/* What the first line says of options.recompute. */
static const char *const recompute_words[] = {", recompute=off", "", ", recompute=2"};

/* Head, layers, what the words of the table mean, groups, phases, memory. */
static hu_status print_text(const planning *plan) {
    hu_status st = HU_OK;
    const char *precision;
    char assumed[HU_ASSUMED_TEXT_BYTES], elements[HU_GROUPED_BYTES], aggregate[HU_GROUPED_BYTES],
        images[HU_IMAGES_TEXT_BYTES];
    const hu_dataset *data = hu_planned_dataset(&plan->planned);
    const int64_t *image = data->field[HU_FIELD_IMAGE].extent;
    int64_t classes = hu_task_classes(plan->planned.options.task, data);
    HU_TRY(hu_config_text(plan->config, "precision.name", &precision));
    printf("%s, width %g, %s, batch %lld in chunks of %lld, %d threads, precision %s%s%s\n\n%s%s\n",
           plan->planned.options.model, plan->planned.options.width,
           hu_images_text(image, classes, images), (long long)plan->planned.options.batch,
           (long long)plan->planned.options.run.chunk, plan->planned.options.run.threads, precision,
           plan->planned.options.run.fuse ? "" : ", fuse=off",
           recompute_words[plan->planned.options.run.recompute], plan->table, plan->notes);
    if (!plan->planned.opened) puts(hu_planned_assumed(&plan->planned, plan->config, assumed));
    fputs(plan->products, stdout);
    if (plan->gaps[0]) printf("%s; %s\n", plan->gaps, HU_GAPS_ADVICE);
    puts(HU_PLAN_PLACES);
    if (plan->planned.precision.scaling != HU_SCALING_NONE) puts(HU_PLAN_FACTORS);
    printf("MACs: of one sample, forward. All tensors of a batch and their gradients: %s elements, "
           "%s bits,\n%.2f %% of the elements in low precision\n",
           hu_grouped(plan->tensor_elements, elements), hu_grouped(plan->aggregate_bits, aggregate),
           100.0 * plan->low_ratio);
    if (plan->operand_table) printf("\n%s" HU_PLAN_OPERANDS "\n", plan->operand_table);
    printf("\n%sgroups: tensors between two products, with their gradients; by size: place in the "
           "order "
           "of demotion\n",
           plan->group_table);
    print_phases(plan);
    HU_TRY(hu_plan_memory_print(plan->ledger[0], plan->ledger[1],
                                storage_word(&plan->planned.options)));
done:
    return st;
}

/* Frees what the plans left. */
static void forget(planning *plan) {
    for (int s = 0; s < STORAGES; s++) json_decref(plan->ledger[s]);
    json_decref(plan->layers);
    json_decref(plan->groups);
    json_decref(plan->networks);
    json_decref(plan->warnings);
    json_decref(plan->phases);
    hu_free(plan->table);
    hu_free(plan->group_table);
    hu_free(plan->operand_table);
    hu_planned_free(&plan->planned);
}

/* nodes=N asks about the network between them instead. */
static hu_status run_network(planning *plan) {
    static const char *const keys[] = {
        "model.*",      "task.*",      "data.*",       "cluster.*",    "comm.exact", "comm.bucket",
        "comm.scaling", "comm.format", "comm.workers", "bench.format", NULL};
    hu_status st = HU_OK;
    HU_TRY(hu_keys_used(plan->config, "plan nodes=", keys));
    HU_TRY(hu_planned_read(plan->config, &hu_progress_messages, &plan->planned));
    HU_TRY(hu_network_advise(plan->config, &plan->planned.options,
                             hu_planned_dataset(&plan->planned), plan->as_json));
done:
    return st;
}

/* A schedule of bits: what its bits cost, and what the training holds. Its rules are refused as a
 * training would. */
static hu_status run_bits(planning *plan) {
    hu_status st = HU_OK;
    json_t *memory = NULL;
    if (hu_config_given(plan->config, "out.file"))
        return hu_fail(HU_ERR_ARGUMENT, "out: found one with a schedule of bits, whose formats "
                                        "change: expected none");
    for (int s = 0; s < STORAGES; s++) HU_TRY(plan_storage(plan, s));
    memory =
        hu_plan_memory_json(plan->ledger[0], plan->ledger[1], storage_word(&plan->planned.options));
    HU_TRY(hu_bitops_tell(plan->config, &plan->planned.options, hu_planned_dataset(&plan->planned),
                          plan->as_json ? memory : NULL));
    if (!plan->as_json) {
        char assumed[HU_ASSUMED_TEXT_BYTES];
        if (!plan->planned.opened) puts(hu_planned_assumed(&plan->planned, plan->config, assumed));
        HU_TRY(hu_plan_memory_print(plan->ledger[0], plan->ledger[1],
                                    storage_word(&plan->planned.options)));
        puts("the training on this machine: what layers round of their inputs waits in their bits, "
             "the outputs of layers in float32.\nThe cost 'memory' above is that of hardware which "
             "holds all in just these bits.");
    }
done:
    json_decref(memory);
    return st;
}

static hu_status run_plan(hu_config *config, int *exit_code) {
    static const char *const keys[] = {
        "model.*",     "task.*",        "data.*",   "precision.*", "accumulator.*", "operand.*",
        "optimizer.*", "lr.*",          "scaler.*", "eval.*",      "run.*",         "comm.*",
        "out.file",    "cluster.nodes", "bits.*",   "cost.*",      "init.*",        "stop.*",
        NULL};
    hu_status st = HU_OK;
    planning plan = {.config = config, .as_json = hu_config_flag(config, "json", NULL)};
    int64_t nodes;
    (void)exit_code;
    HU_TRY(hu_config_i64(config, "cluster.nodes", &nodes));
    if (nodes > 0) {
        st = run_network(&plan);
        goto done;
    }
    HU_TRY(hu_keys_used(config, "plan", keys));
    HU_TRY(hu_planned_read(config, &hu_progress_messages, &plan.planned));
    if (plan.planned.precision.bits.schedule) {
        st = run_bits(&plan);
        goto done;
    }
    for (int s = 0; s < STORAGES; s++) HU_TRY(plan_storage(&plan, s));
    st = plan.as_json ? print_json(&plan) : print_text(&plan);
done:
    forget(&plan);
    return st;
}

static const char *const flags[] = {"json", NULL};

static const char *const plan_keys[] = {HU_TRAINING_KEYS, "out.file", "cluster.*", "bench.format",
                                        NULL};

const hu_verb hu_verb_plan = {
    .name = "plan",
    .group = HU_VERBS_COMPARE,
    .help = "what a training would compute and hold in memory, without training",
    .usage =
        "model=NAME [precision=...] [batch=N] [out=FILE.yaml] [nodes=N] [key=value ...] [--json]",
    .details =
        "Takes the keys of train and tells, layer by layer, shapes, parameters, multiply-"
        "accumulates\n"
        "and formats; then memory by role, with packed storage (or dense, as storage= says) and\n"
        "with float32 storage. A training of the same keys has just these bytes, workers=\n"
        "included (under mpirun a process has its own part\n"
        "of them). Without data=, images are those that the model is made for, else 32x32x3 in\n"
        "10 classes, or as data.size=, data.crop= and data.classes= say. A product that would run "
        "in a slow\n"
        "reference implementation is warned of.\n"
        "A schedule of bits (precision=ldp:3-8, keys bits.*) tells instead what the bits of each\n"
        "layer cost in training and inference, beside static 8 bits, then the memory: cost.file= "
        "has\n"
        "costs of your own, steps= or epochs= the length.\n"
        "out=FILE.yaml writes the formats of all tensors by name: a plan for "
        "precision=FILE.yaml\n"
        "(of precision.epochs the first phase alone).\n"
        "nodes=N predicts instead how long the gradients travel between N nodes, by schedule and\n"
        "format=F,... (e5m2,e4m3), and whether few bits pay: link=10G (bits a second of a node's\n"
        "link; 100Mbit, 10Gbps), latency=10us (of one link), scaling=aps.\n",
    .flags = flags,
    .max_subjects = 0,
    .keys = plan_keys,
    .refuses_others = true,
    .examples = {{"plan model=resnet18 batch=32",
                  "layers, operations and bytes of a training, which is not made"},
                 {"plan model=resnet18 precision=hfp8 out=FILE.yaml",
                  "what each tensor is rounded to, as a file"}},
    .run = run_plan,
};
