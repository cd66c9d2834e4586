/* halfulp export: the weights of a run in a file that others read. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/internal.h"
#include "cli/verb.h"
#include "config/unused_keys.h"
#include "render/json.h"
#include "render/table.h"
#include "session/saved_run.h"
#include "train/weights.h"

enum { WORD_BYTES = 1024 }; /* of a path in a command that is proposed */

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
    options->coded = strcmp(weights, "codes") == 0;
done:
    return st;
}

/* A name that other programs would take for a file of theirs. */
static hu_status check_ending(const char *file) {
    static const char *const others[] = {".pt",  ".pth", ".ckpt", ".bin", ".onnx",
                                         ".npz", ".npy", ".h5",   NULL};
    const char *ending = strrchr(file, '.');
    for (size_t i = 0; ending && others[i]; i++)
        if (strcmp(ending, others[i]) == 0)
            return hu_fail(HU_ERR_ARGUMENT,
                           "out=%.200s: found the ending %s, expected .safetensors, or .h for a "
                           "header of C: nothing else is written%s",
                           file, ending,
                           strcmp(ending, ".onnx") == 0
                               ? " (torch.onnx.export makes ONNX of a module with these weights)"
                               : " (docs/how-to/weights.md has the line that torch reads it with)");
    return HU_OK;
}

/* format=onnx is what everybody tries first. */
static hu_status check_format(const hu_config *config) {
    const char *format = "";
    if (!hu_config_asked(config, "bench.format")) return HU_OK;
    hu_status st = hu_config_text(config, "bench.format", &format);
    if (st != HU_OK) return st;
    return hu_fail(HU_ERR_ARGUMENT,
                   "format=%.100s: export writes safetensors, and a header of C for out=FILE.h; "
                   "neither ONNX nor PyTorch's own files; what the numbers are written as says "
                   "weights=master, rounded or codes",
                   format);
}

/* A header holds codes where nothing else was asked for: it is for devices that are small. */
static void choose_header(const hu_config *config, const char *path, hu_export_options *options) {
    const char *ending = strrchr(path, '.');
    options->as_c = ending && strcmp(ending, ".h") == 0;
    if (options->as_c && !hu_config_asked(config, "out.weights")) options->coded = true;
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

/* A folder that is only read has room for no file, other folders have. */
static hu_status advise(const hu_config *config, hu_status st) {
    if (st != HU_ERR_IO || hu_config_asked(config, "out.file")) return st;
    return hu_fail(st, "%s; out=FILE.safetensors writes it elsewhere", hu_last_error());
}

/* The word of a shell for a path with an ending, `other` where it is too long. */
static void quote(const char *path, const char *ending, const char *other, char to[WORD_BYTES]) {
    char whole[WORD_BYTES];
    int length = snprintf(whole, sizeof whole, "%s%s", path, ending);
    if (length >= WORD_BYTES || !hu_quote_shell(whole, to, WORD_BYTES))
        snprintf(to, WORD_BYTES, "%s", other);
}

/* Codes were asked for and there are none: nothing is smaller than it was. */
static void tell_of_no_codes(const hu_config *config, const hu_export_options *options,
                             const hu_saved_run *run, const hu_export_report *made) {
    char folder[WORD_BYTES], file[WORD_BYTES], fresh[WORD_BYTES];
    const char *precision = "";
    bool is_asked = !options->as_c || hu_config_asked(config, "out.weights");
    if (!options->coded || made->coded > 0 || !is_asked) return;
    hu_config_text(config, "precision.name", &precision);
    quote(run->directory, "", "RUN", folder);
    quote(run->directory, "/config.resolved.yaml", "RUN/config.resolved.yaml", file);
    quote(run->directory, "-e4m3fn", "NEW", fresh);
    hu_listener_tell(
        &hu_progress_messages,
        "note: precision %s rounds no weight to numbers of 16 bits or fewer with codes "
        "of their own: all are written as float32; in 8 bits: halfulp train config=%s "
        "init=%s epochs=0 precision=w=e4m3fn run.dir=%s, then halfulp export %s "
        "weights=codes",
        precision, file, folder, fresh, fresh);
}

/* What the file holds, and the hash of the weights, by which it is recognised again. */
/* Weights that other programs would take for those of the usual network. */
static void tell_of_scaling(const hu_saved_run *run) {
    if (run->precision.scaling == HU_SCALING_NONE) return;
    fprintf(stderr, "these are weights of a network with fixed factors: init=FILE takes them with "
                    "precision.scaling=unit alone, and without the factors (halfulp plan ... "
                    "--json) they make another network\n");
}

static hu_status report(const hu_config *config, const hu_export_options *options,
                        const hu_saved_run *run, const char *path, const hu_export_report *made) {
    const char *layout = "", *weights = hu_export_kind(options);
    uint64_t hash = hu_trainer_weights_hash(run->trainer);
    hu_config_text(config, "out.layout", &layout);
    if (hu_config_flag(config, "json", NULL))
        return hu_json_print(
            json_pack("{s:s, s:I, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:o}", "run", run->directory,
                      "step", (json_int_t)run->step, "file", path, "layout", layout, "weights",
                      weights, "tensors", (json_int_t)made->tensors, "coded",
                      (json_int_t)made->coded, "elements", (json_int_t)made->elements, "bytes",
                      (json_int_t)made->bytes, "weights_hash", hu_json_hash(hash)));
    char coded[64] = "";
    if (options->coded)
        snprintf(coded, sizeof coded, " (%zu in the bits of their formats)", made->coded);
    printf("step %lld: %zu tensors%s, %lld %s numbers in %s layout, %zu bytes, to %s\n",
           (long long)run->step, made->tensors, coded, (long long)made->elements,
           options->coded ? "rounded" : weights, layout, made->bytes, path);
    return HU_OK;
}

static hu_status run_export(hu_config *config, int *exit_code) {
    hu_status st;
    hu_saved_run run = {.only_weights = true};
    hu_export_options options = {0};
    hu_export_report made;
    char *path = NULL;
    (void)exit_code;
    HU_TRY(check_format(config));
    HU_TRY(hu_keys_used(config, "export", used));
    HU_TRY(hu_saved_run_open(config, hu_config_subject(config, 0), &hu_progress_messages, &run));
    HU_TRY(read_options(config, &options));
    HU_TRY(choose_file(config, run.directory, &path));
    choose_header(config, path, &options);
    HU_TRY(advise(config, hu_trainer_export(run.trainer, path, &options, &made)));
    tell_of_no_codes(config, &options, &run, &made);
    tell_of_scaling(&run);
    HU_TRY(report(config, &options, &run, path, &made));
done:
    hu_free(path);
    hu_saved_run_close(&run);
    return st;
}

const hu_verb hu_verb_export = {
    .name = "export",
    .group = HU_VERBS_USE,
    .help = "weights of a run's newest checkpoint as a safetensors file, or in C",
    .usage = "RUN [out=FILE] [layout=torch|halfulp] [weights=master|rounded|codes] [--json]",
    .details =
        "Writes parameters and running statistics, float32, to FILE (RUN/weights.safetensors).\n"
        "layout=torch (the default): convolutions are [out, in/groups, kh, kw], names are those "
        "of\n"
        "a torch.nn module of the same structure, so that load_state_dict takes them;\n"
        "layout=halfulp: [out, kh, kw, in/groups], as they lie in memory here.\n"
        "weights=rounded: as the products see them, in float32; weights=codes: the same in\n"
        "the bits of their formats (F8_E4M3, F16, ... or codes that init= reads, and the Python\n"
        "of docs/how-to/weights.md). A run in fp32 has none: it is told how to get 8 bits.\n"
        "out=FILE.h writes them as arrays of C. The data that the run was trained on need\n"
        "not be there any more. `halfulp train init=FILE` starts from a file, or a part of it.\n",
    .flags = flags,
    .min_subjects = 1,
    .max_subjects = 1,
    .keys = used,
    .refuses_others = true,
    .examples = {{"export RUN out=FILE.safetensors",
                  "weights for load_state_dict of a torch.nn module"},
                 {"export RUN weights=codes", "as the products see them, in 8 bits where they are"},
                 {"export RUN out=weights.h", "for a small device, in C"}},
    .run = run_export,
};
