/* halfulp export: the weights of a run in a file that others read. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/progress.h"
#include "cli/verb.h"
#include "config/used.h"
#include "session/saved_run.h"
#include "show/json.h"
#include "show/stdout.h"
#include "train/weights.h"

static const char *const flags[] = {"json", NULL};
/* Keys that this verb reads; any other that is given is an error, not a wish that is ignored. */
static const char *const used[] = {"out.file",        "out.layout",  "out.weights", "data.*",
                                   "eval.checkpoint", "run.threads", "run.storage", NULL};

/* Layout and weights of the file. */
static hu_status read_options(const hu_config *config, hu_export_options *options) {
    const char *layout, *weights;
    hu_status st;
    HU_TRY(hu_config_text(config, "out.layout", &layout));
    HU_TRY(hu_weight_layout_parse(layout, &options->layout));
    HU_TRY(hu_config_text(config, "out.weights", &weights));
    options->averaged = strcmp(weights, "average") == 0;
    options->rounded = strcmp(weights, "rounded") == 0;
done:
    return st;
}

/* A name that other programs would take for a file of theirs. */
static hu_status check_ending(const char *file) {
    static const char *const others[] = {".pt",  ".pth", ".bin", ".onnx",
                                         ".npz", ".npy", ".h5",  NULL};
    const char *ending = strrchr(file, '.');
    for (size_t i = 0; ending && others[i]; i++)
        if (strcmp(ending, others[i]) == 0)
            return hu_fail(HU_ERR_ARGUMENT,
                           "out=%.200s: found the ending %s, expected .safetensors, which is what "
                           "is written (docs/weights.md has the line that torch reads it with)",
                           file, ending);
    return HU_OK;
}

/* out.file, or weights.safetensors in the run's folder; owner frees. */
static hu_status choose_file(const hu_config *config, const char *directory, char **path) {
    const char *file;
    hu_status st = hu_config_text(config, "out.file", &file);
    *path = NULL;
    if (st != HU_OK) return st;
    if (!file[0]) return hu_fail(HU_ERR_ARGUMENT, "out: found '', expected a file");
    if (strcmp(file, "auto") == 0) return hu_path_join(directory, "weights.safetensors", path);
    st = check_ending(file);
    return st == HU_OK ? hu_strdup(file, path) : st;
}

/* What the file holds, and the hash of the weights, by which it is recognised again. */
static hu_status report(const hu_config *config, const hu_saved_run *run, const char *path,
                        const hu_export_report *made) {
    const char *layout = "", *weights = "";
    uint64_t hash = hu_trainer_weights_hash(run->trainer);
    hu_config_text(config, "out.layout", &layout);
    hu_config_text(config, "out.weights", &weights);
    if (hu_config_flag(config, "json", NULL))
        return hu_json_print(json_pack(
            "{s:s, s:I, s:s, s:s, s:s, s:I, s:I, s:I, s:o}", "run", run->directory, "step",
            (json_int_t)run->step, "file", path, "layout", layout, "weights", weights, "tensors",
            (json_int_t)made->tensors, "elements", (json_int_t)made->elements, "bytes",
            (json_int_t)made->bytes, "weights_hash", hu_json_hash(hash)));
    printf("step %lld: %zu tensors, %lld %s numbers in %s layout, %zu bytes, to %s\n",
           (long long)run->step, made->tensors, (long long)made->elements, weights, layout,
           made->bytes, path);
    return HU_OK;
}

static hu_status run_export(hu_config *config, int *exit_code) {
    hu_status st;
    hu_saved_run run = {.only_weights = true};
    hu_export_options options = {0};
    hu_export_report made;
    char *path = NULL;
    (void)exit_code;
    HU_TRY(hu_keys_used(config, "export", used));
    HU_TRY(hu_saved_run_open(config, hu_config_subject(config, 0), &hu_progress_messages, &run));
    HU_TRY(read_options(config, &options));
    HU_TRY(choose_file(config, run.directory, &path));
    HU_TRY(hu_trainer_export(run.trainer, path, &options, &made));
    HU_TRY(report(config, &run, path, &made));
done:
    hu_free(path);
    hu_saved_run_close(&run);
    return st;
}

const hu_verb hu_verb_export = {
    .name = "export",
    .group = HU_VERBS_USE,
    .help = "weights of a run's newest checkpoint as a safetensors file",
    .usage = "RUN [out=FILE] [layout=torch|halfulp] [weights=master|rounded] [--json]",
    .details =
        "Writes parameters and running statistics, float32, to FILE (RUN/weights.safetensors).\n"
        "layout=torch (the default): convolutions are [out, in/groups, kh, kw], names are those "
        "of\n"
        "a torch.nn module of the same structure, so that load_state_dict takes them;\n"
        "layout=halfulp: [out, kh, kw, in/groups], as they lie in memory here.\n"
        "weights=rounded: as the products see them. The data that the run was trained on need not\n"
        "be there any more. `halfulp train init=FILE` starts from a file.\n",
    .flags = flags,
    .min_subjects = 1,
    .max_subjects = 1,
    .keys = used,
    .refuses_others = true,
    .examples = {{"export RUN out=FILE.safetensors",
                  "weights for load_state_dict of a torch.nn module"},
                 {"export RUN weights=rounded", "as the products see them"}},
    .run = run_export,
};
