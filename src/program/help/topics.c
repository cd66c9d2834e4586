/* Topics: each a table of the library as text. */
#include "help/topics.h"

#include <halfulp/data.h>
#include <halfulp/format.h>
#include <stdio.h>
#include <string.h>

#include "help/about.h"
#include "help/data_layouts.h"
#include "help/words.h"
#include "kernel/block/block.h"
#include "model/registry.h"
#include "precision/assignment.h"
#include "precision/edge_writer.h"
#include "task/task.h"
#include "train/trainer.h"

enum { NAME_COLUMNS = 18 };

/* "  name  what it is", in lines. */
static void put_row(hu_page *page, const char *name, const char *help) {
    int at = (int)strlen(name) > NAME_COLUMNS ? (int)strlen(name) : NAME_COLUMNS;
    hu_page_put(page, "  %-*s ", NAME_COLUMNS, name);
    hu_put_wrapped(page, help, at + 3, NAME_COLUMNS + 3);
}

/* Names and what they are; their usual trainings are told of each, `halfulp help NAME`. */
static void put_models(hu_page *page) {
    hu_page_put(page, "Models, for model=NAME; model.width=2 makes one twice as wide. A network "
                      "of one's own: docs.\n\n");
    for (int i = 0; i < hu_model_count; i++)
        put_row(page, hu_model_table[i].name, hu_model_table[i].help);
}

/* Each with its usual loss and all its metrics. */
static void put_tasks(hu_page *page) {
    hu_page_put(page, "Tasks, for task=NAME (usually the model's own). The first metric is the one "
                      "that\ncompare, assign and reports take.\n\n");
    for (size_t i = 0; hu_task_at(i); i++) {
        const hu_task *task = hu_task_at(i);
        put_row(page, task->name, task->help);
        hu_page_put(page, "  %*s loss %s; metrics", NAME_COLUMNS, "", task->loss);
        for (int m = 0; task->metric[m]; m++) hu_page_put(page, " %s", task->metric[m]->name);
        hu_page_put(page, "\n");
    }
}

/* What a task may be given in place of its own. */
static void put_losses(hu_page *page) {
    hu_page_put(page, "Losses, for loss=NAME (usually the task's own).\n\n");
    for (size_t i = 0; hu_loss_at(i); i++) put_row(page, hu_loss_at(i)->name, hu_loss_at(i)->help);
}

/* Kinds of data, with what their folders hold. */
static void put_data(hu_page *page) {
    hu_page_put(page,
                "Data sets, for data=KIND or data=KIND:PATH; `halfulp help data=folder` shows "
                "how files of\na kind must lie, and the keys data.* choose parts of "
                "them.\n\n");
    for (size_t i = 0; hu_data_kind_name(i); i++)
        put_row(page, hu_data_kind_name(i), hu_data_kind_help(i));
}

/* How formats are written, then those with names. */
static void put_formats(hu_page *page) {
    const char *name, *help;
    const hu_block_format *block;
    hu_page_put(
        page, "Number formats, for fmt, precision= and accumulator=. Of one's own:\n"
              "  eEmM           E exponent and M mantissa bits, with :bias=B :ovf=inf|sat|nan\n"
              "                 :specials=ieee|fin|fn|fnuz :sub=d|n|nearest :nan=ovf behind it\n"
              "  1/E/M/d        the same, with subnormals; 1/E/M/n: without\n"
              "  fp(E,M,EXTRA)  all codes are numbers; EXTRA is added to the usual bias\n"
              "  uniformB       B-bit integers over the range of a tensor, B from 2 to 16\n"
              "A bare e4m3 is by the rules of IEEE 754, with infinities; OCP's is e4m3fn.\n"
              "e3m3 has 7 bits: a sign, 3 of exponent, 3 of mantissa. Formats of up to 8 bits lie\n"
              "in 8 each, up to 16 in 16, wider ones in 32; storage=dense leaves no gaps in those\n"
              "of up to 16. Blocks and uniformB never have any.\n\n");
    for (uint32_t i = 0; (name = hu_format_named(i, NULL, &help)) != NULL; i++)
        put_row(page, name, help ? help : "");
    hu_page_put(
        page,
        "\nin blocks with a scale each (mx...:scale=ceil, rceil or even: not rounded down):\n");
    for (size_t i = 0; (block = hu_block_format_at(i)) != NULL; i++)
        hu_page_put(page, "  %s\n", block->name);
}

/* What may stand behind precision=, from a name to a plan. */
static void put_precisions(hu_page *page) {
    hu_page_put(page, "Precisions, for precision=.\n\n  named:");
    for (int i = 0; i < hu_precision_name_count; i++)
        hu_page_put(page, "%s %s", i % 8 == 7 ? "\n        " : "", hu_precision_names[i]);
    hu_page_put(
        page,
        "\n\n"
        "  F                              any number format for all tensors, see `help formats`\n"
        "  w=F,act=F,grad=F,wgrad=F       one for weights, activations, their gradients, and\n"
        "                                 gradients of weights; what is left out stays float32\n"
        "  F:scale=current|delayed|bias   with a scale of its own for each tensor\n"
        "  static:B cpt:A-B ldp:A-B ...   integers whose bits go by a schedule, keys bits.*\n"
        "  FILE.yaml                      a plan, as assign and every training write one\n\n"
        "Two formats, precision.high= and precision.low=, shared out among the tensors; with\n"
        "+promote behind it, tensors that overflow too often go high for good:\n");
    for (int i = 0; i < hu_assignment_count; i++) {
        const hu_assignment_kind *kind = hu_assignment_table[i];
        char name[64];
        snprintf(name, sizeof name, "%s%s%s", kind->name, *kind->argument ? ":" : "",
                 kind->argument);
        put_row(page, name, kind->help);
    }
    hu_page_put(page,
                "\n  precision.rules='fc.*: fp16'          some tensors otherwise, by their names\n"
                "  precision.epochs='0: fp32, 2: hfp8'   another precision from epoch 2 on\n");
}

/* The rows that hu_schedule_parse knows. */
static void put_schedules(hu_page *page) {
    hu_page_put(page,
                "Learning rates over time, for lr.schedule=NAME; the keys lr.* set them.\n\n");
    for (int i = 0; i < HU_SCHEDULE_COUNT; i++)
        put_row(page, hu_schedule_kinds[i].name, hu_schedule_kinds[i].summary);
}

/* The rows that hu_optimizer_parse knows. */
static void put_optimizers(hu_page *page) {
    hu_page_put(page, "Optimizers, for optimizer=NAME; the keys optimizer.* set them.\n\n");
    for (int i = 0; i < HU_OPTIMIZER_COUNT; i++)
        put_row(page, hu_optimizer_kinds[i].name, hu_optimizer_kinds[i].summary);
}

/* Common keys in a line each, then all of them, long. */
static void put_keys(hu_page *page) {
    hu_page_put(page, "Keys, as key=value behind a verb, or in a YAML file that config=FILE names; "
                      "words\nwin over files.\n\ncommon:\n");
    for (size_t i = 0; hu_common_key_at(i); i++) hu_put_key_line(page, hu_common_key_at(i));
    for (size_t g = 0; hu_key_group_at(g); g++) {
        hu_page_put(page, "\n%s: %s\n", hu_key_group_at(g)->name, hu_key_group_at(g)->title);
        for (size_t i = 0; i < hu_config_key_count; i++)
            if (hu_key_is_of(&hu_config_keys[i], hu_key_group_at(g)))
                hu_put_key(page, &hu_config_keys[i]);
    }
}

/* As include/halfulp/status.h gives them. */
static void put_exit_codes(hu_page *page) {
    hu_page_put(page, "Exit codes:\n\n"
                      "  0    it worked\n"
                      "  1    a check failed (doctor, assign without an answer)\n"
                      "  2    usage: a word, key or value that cannot be\n"
                      "  3    data: a file that is not there, damaged or of another version\n"
                      "  4    numerics: the training diverged\n"
                      "  5    resources: memory, disk, permissions\n"
                      "  6    another process of mpirun was lost\n"
                      "  130  interrupted; a training has saved where it was\n");
}

static void put_scales(hu_page *page) {
    hu_page_put(page,
                "Scales, behind a format: its numbers are multiplied by a power of two before they "
                "are\nrounded, and divided by it afterwards, so that its range lies where the "
                "numbers are.\n\n"
                "  F:scale=current   each tensor's own, from its largest number, in every step\n"
                "  F:scale=delayed   from the largest numbers of the steps before\n"
                "  F:scale=bias      the exponent's bias is chosen by tensor instead\n"
                "  F:scale=2^K       one power of two for good, such as e4m3:scale=2^4\n\n"
                "current must see the whole tensor before its first number can be rounded: the "
                "tensor stands\nin float32 between two loops then (plan says `waits`), which "
                "costs memory and time.\nAll gradients by one factor: `halfulp help scaler`.\n");
}

/* In the order in which a reader of the help may ask. */
/* The way from and to PyTorch. */
static void put_pytorch(hu_page *page) {
    hu_page_put(
        page,
        "PyTorch and halfulp meet in files of weights. A network of PyTorch cannot be read.\n\n"
        "  halfulp export RUN out=w.safetensors     weights of a run, named and laid out as\n"
        "                                           torch has them: load_state_dict takes them\n"
        "  halfulp train init=w.safetensors ...     begins with weights of torch\n\n"
        "What torch calls float8_e4m3fn is e4m3fn here, float8_e5m2 is e5m2, bfloat16 is bf16,\n"
        "float16 is fp16. docs/how-to/weights.md has the lines of Python for every model.\n");
}

static void put_python(hu_page *page) {
    hu_page_put(page,
                "There is no package for Python yet. Every verb prints one JSON object with "
                "--json:\n\n"
                "  json.loads(subprocess.run([\"halfulp\", \"train\", ..., \"--json\"],\n"
                "                            capture_output=True).stdout)\n\n"
                "and metrics.csv, metrics.jsonl and weights.safetensors of a run are read by "
                "pandas and\nsafetensors (`halfulp help runs`). libhalfulp is a C library that "
                "ctypes opens.\n");
}

static void put_onnx(hu_page *page) {
    hu_page_put(page,
                "ONNX files are neither read nor written. Weights go out as safetensors (`halfulp "
                "export RUN`);\nPyTorch takes them and writes ONNX: docs/how-to/weights.md.\n");
}

static const hu_topic topics[] = {
    {"models", "networks by name", put_models},
    {"data", "data sets, and what their folders hold", put_data},
    {"runs", "what a run's folder holds, and who reads it", hu_put_runs},
    {"formats", "number formats, named and of one's own", put_formats},
    {"precisions", "which tensors are rounded to what, in one word", put_precisions},
    {"accumulators", "how products of matrices add their terms", hu_put_accumulators},
    {"scale", "formats with a scale by tensor: F:scale=current", put_scales},
    {"tasks", "what is learned, with losses and metrics", put_tasks},
    {"losses", "losses by name", put_losses},
    {"optimizers", "updates by name", put_optimizers},
    {"schedules", "learning rates over time", put_schedules},
    {"keys", "all keys, in groups", put_keys},
    {"pytorch", "weights to and from PyTorch", put_pytorch},
    {"python", "from Python", put_python},
    {"onnx", "what there is of ONNX", put_onnx},
    {"exit-codes", "what the program returns", put_exit_codes},
};

const hu_topic *hu_topic_at(size_t index) {
    return index < sizeof topics / sizeof *topics ? &topics[index] : NULL;
}
