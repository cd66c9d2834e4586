/* halfulp model: a network, layer by layer, with the bytes of its tensors; as a file, as a picture.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/internal.h"
#include "cli/verb.h"
#include "model/network_file.h"
#include "planner/planner.h"
#include "render/json.h"
#include "render/table.h"
#include "report/plan.h"
#include "runlog/run_list.h"
#include "session/saved_run.h"
#include "settings/planned.h"
#include "train/trainer.h"

/* What is shown: the model of a configuration, or of a run. */
typedef struct subject {
    hu_config *config;
    hu_planned planned;
    hu_saved_run run;
    bool is_run;
    const hu_train_options *options;
    const hu_dataset *dataset;
    const char *precision;
} subject;

/* ---- What is asked for ---- */

/* The word is a model's name or file, as model= would say it. */
static hu_status name_model(hu_config *config, const char *word) {
    if (hu_config_asked(config, "model.name"))
        return hu_fail(HU_ERR_ARGUMENT, "found model '%.200s' and '%.200s', expected one", word,
                       hu_config_typed(config, "model.name"));
    return hu_config_replace(config, "model.name", word, "command line");
}

/* A folder is meant where it is that of a run, or where no model is called so: then it is told what
 * it is instead. */
static hu_status is_folder(const char *word, bool *is) {
    const hu_model *model;
    struct stat about;
    hu_status st = hu_run_folder_is(word, is);
    if (st != HU_OK || *is) return st;
    *is = stat(word, &about) == 0 && S_ISDIR(about.st_mode) && hu_model_find(word, &model) != HU_OK;
    return HU_OK;
}

static hu_status open_subject(subject *s) {
    hu_status st = HU_OK;
    const char *word = hu_config_subject(s->config, 0);
    if (!word && !hu_config_given(s->config, "model.name"))
        return hu_fail(HU_ERR_ARGUMENT, "found no NAME, expected halfulp model NAME, a network "
                                        "file or the folder of a run");
    if (word) HU_TRY(is_folder(word, &s->is_run));
    if (s->is_run) {
        s->run.only_weights = true;
        HU_TRY(hu_saved_run_read(s->config, word, &hu_progress_messages, &s->run));
        s->options = &s->run.options;
        s->dataset = s->run.dataset;
    } else {
        if (word) HU_TRY(name_model(s->config, word));
        HU_TRY(hu_planned_read(s->config, &hu_progress_messages, &s->planned));
        s->options = &s->planned.options;
        s->dataset = hu_planned_dataset(&s->planned);
    }
    HU_TRY(hu_config_text(s->config, "precision.name", &s->precision));
done:
    return st;
}

static void close_subject(subject *s) {
    hu_planned_free(&s->planned);
    hu_saved_run_close(&s->run);
}

/* ---- The table ---- */

static json_t *run_json(const subject *s, const hu_run *run) {
    const hu_graph *graph = hu_run_graph(run);
    const hu_train_options *options = s->options;
    const hu_ledger ledger = hu_ledger_of(run, 0, 0);
    char assumed[HU_ASSUMED_TEXT_BYTES];
    return json_pack(
        "{s:s, s:s, s:o, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o*, s:s*}", "model",
        options->model, "task", options->task->name, "width", hu_json_number(options->width),
        "batch", (json_int_t)options->batch, "precision", s->precision, "parameters",
        (json_int_t)hu_graph_parameters(graph), "macs", (json_int_t)hu_graph_macs(graph),
        "weight_bytes", (json_int_t)hu_network_weight_bytes(run), "parameter_bytes",
        (json_int_t)ledger.parameters, "saved_bytes", (json_int_t)ledger.saved, "inputs",
        hu_network_inputs_json(run), "layers", hu_network_layers_json(run), "networks",
        hu_plan_networks_json(graph), "assumed",
        s->is_run ? NULL : hu_planned_assumed(&s->planned, s->config, assumed));
}

/* The sums below the table. */
static void print_totals(const subject *s, const hu_run *run) {
    const hu_graph *graph = hu_run_graph(run);
    const hu_ledger ledger = hu_ledger_of(run, 0, 0);
    int64_t batch = s->options->batch;
    char text[4][HU_GROUPED_BYTES];
    printf("parameters: %s, %s bytes as products read them, %s as float32 with running "
           "statistics\n",
           hu_grouped(hu_graph_parameters(graph), text[0]),
           hu_grouped((int64_t)hu_network_weight_bytes(run), text[1]),
           hu_grouped((int64_t)ledger.parameters, text[2]));
    printf("MACs: %s multiply-adds of one sample, forward\n",
           hu_grouped(hu_graph_macs(graph), text[0]));
    printf("saved for the backward pass: %s bytes of a batch of %lld, %s of a sample\n",
           hu_grouped((int64_t)ledger.saved, text[0]), (long long)batch,
           hu_grouped(((int64_t)ledger.saved + batch - 1) / batch, text[1]));
}

static hu_status print_text(const subject *s, const hu_run *run) {
    hu_status st = HU_OK;
    char assumed[HU_ASSUMED_TEXT_BYTES], notes[1024];
    hu_table *table = NULL;
    HU_TRY(hu_network_table(run, &table));
    printf("%s, task %s, width %g, batch %lld, precision %s\n\n", s->options->model,
           s->options->task->name, s->options->width, (long long)s->options->batch, s->precision);
    HU_TRY(hu_show_table(table));
    hu_plan_format_notes(run, false, notes, sizeof notes);
    fputs(notes, stdout);
    print_totals(s, run);
    if (!s->is_run && hu_planned_assumed(&s->planned, s->config, assumed)) puts(assumed);
    puts(HU_PLAN_PLACES);
done:
    hu_table_free(table);
    return st;
}

/* Plans without memory: the machine need not have it. */
static hu_status print(const subject *s) {
    hu_status st = HU_OK;
    hu_trainer *trainer = NULL;
    hu_train_options options = *s->options;
    options.run.is_plan = true;
    hu_memory_only_counts(true);
    HU_TRY(hu_trainer_create(&options, s->dataset, &trainer));
    const hu_run *run = hu_trainer_run(trainer);
    HU_TRY(hu_network_tell(s->config, s->options, s->dataset, hu_run_graph(run),
                           &hu_progress_messages));
    st = hu_config_flag(s->config, "json", NULL) ? hu_json_print(run_json(s, run))
                                                 : print_text(s, run);
done:
    hu_trainer_free(trainer);
    hu_memory_only_counts(false);
    return st;
}

/* ---- Files ---- */

/* out=FILE. */
typedef struct output {
    char *path; /* NULL: nothing is written */
    bool is_picture;
} output;

/* What the file says of itself: of a model by name, whose recipe it takes; of a file what that
 * says, but for the weights, which lie beside that one. */
static hu_status make_heading(const subject *s, hu_network_heading *heading) {
    hu_status st = HU_OK;
    *heading = (hu_network_heading){.name = s->options->model, .recipe = s->options->model};
    if (s->options->network) HU_TRY(hu_network_read_heading(s->options->network, heading));
    if (heading->weights)
        hu_listener_tell(&hu_progress_messages, "note: the file does not name the weights %s",
                         heading->weights);
    heading->weights = NULL;
    heading->task = s->options->task->name;
done:
    return st;
}

/* "resnet20: 272,474 parameters, 40,813,184 multiply-adds of a sample" */
static hu_status draw_network(const subject *s, const hu_graph *graph, const char *path) {
    enum { TITLE_BYTES = 512 };
    hu_status st = HU_OK;
    char title[TITLE_BYTES], parameters[HU_GROUPED_BYTES], macs[HU_GROUPED_BYTES], *svg = NULL;
    snprintf(title, sizeof title, "%.300s: %s parameters, %s multiply-adds of a sample",
             s->options->model, hu_grouped(hu_graph_parameters(graph), parameters),
             hu_grouped(hu_graph_macs(graph), macs));
    HU_TRY(hu_network_draw(graph, title, &svg));
    st = hu_file_replace(path, svg, strlen(svg));
done:
    hu_free(svg);
    return st;
}

static hu_status write_network(const subject *s, const hu_task_choice *choice,
                               const hu_graph *graph, const char *path) {
    hu_status st = HU_OK;
    hu_network_heading heading;
    hu_byte_writer text = {0};
    HU_TRY(make_heading(s, &heading));
    HU_TRY(hu_network_write(graph, &heading, choice, &text));
    st = hu_file_replace(path, text.data, text.size);
done:
    hu_free(text.data);
    return st;
}

/* The network as it is declared: biases are nodes of their own where a precision asks for it, which
 * the reader of the file does again. */
static hu_status write_file(const subject *s, const output *out) {
    hu_status st = HU_OK;
    hu_graph *graph = NULL;
    hu_task_choice choice;
    hu_train_options plain = *s->options;
    plain.precision = (hu_precision){0};
    HU_TRY(hu_train_network(&plain, s->dataset, &choice, &graph));
    if (out->is_picture)
        HU_TRY(draw_network(s, graph, out->path));
    else
        HU_TRY(write_network(s, &choice, graph, out->path));
    hu_listener_tell(&hu_progress_messages, "wrote the %s %s",
                     out->is_picture ? "picture" : "network", out->path);
done:
    hu_graph_free(graph);
    return st;
}

/* out.file. Owner frees the path: the configuration of a run is yet to come. */
static hu_status choose_file(const hu_config *config, output *out) {
    static const char *const endings[] = {"yaml", "svg", NULL};
    hu_status st = HU_OK;
    const char *file;
    int form;
    HU_TRY(hu_config_text(config, "out.file", &file));
    if (strcmp(file, "auto") == 0) return HU_OK;
    HU_TRY(hu_ending_find(file, endings, &form));
    out->is_picture = form == 1;
    st = hu_strdup(file, &out->path);
done:
    return st;
}

static hu_status run_model(hu_config *config, int *exit_code) {
    hu_status st = HU_OK;
    subject s = {.config = config};
    output out = {0};
    (void)exit_code;
    HU_TRY(choose_file(config, &out));
    HU_TRY(open_subject(&s));
    if (out.path) HU_TRY(write_file(&s, &out));
    HU_TRY(print(&s));
done:
    hu_free(out.path);
    close_subject(&s);
    return st;
}

static const char *const flags[] = {"json", NULL};

static const char *const model_keys[] = {
    "model.*",       "task.*",       "data.*",      "precision.*",  "accumulator.*", "operand.*",
    "bits.*",        "run.batch",    "run.chunk",   "run.threads",  "run.storage",   "run.fuse",
    "run.recompute", "run.products", "comm.format", "comm.workers", "out.file",      NULL};

const hu_verb hu_verb_model = {
    .name = "model",
    .group = HU_VERBS_COMPARE,
    .help = "a network layer by layer, as a file or as a picture",
    .usage =
        "NAME|FILE.yaml|RUN [precision=...] [batch=N] [out=FILE.yaml|FILE.svg] [key=value ...] "
        "[--json]",
    .details =
        "Tells of a built-in model, a network file or the network of a run, layer by layer: kind,\n"
        "shape of the output, parameters, multiply-adds of a sample, format and bytes of the\n"
        "output of a batch and of the parameters, and what is saved for the backward pass or\n"
        "computed again; then the sums. Nothing is trained. Without data=, shapes are those that\n"
        "`plan` assumes; a run has its own data, precision and batch.\n"
        "out=FILE.yaml writes the network as a network file, which model=FILE.yaml trains to the\n"
        "same bits.\n",
    .flags = flags,
    .max_subjects = 1,
    .keys = model_keys,
    .examples = {{"model resnet20 precision=hfp8", "layers with the bytes of their tensors"},
                 {"model resnet20 out=FILE.yaml", "the network as a file that can be changed"},
                 {"model resnet20 out=FILE.svg", "the network as a picture"}},
    .run = run_model,
};
