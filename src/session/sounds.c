#include "session/sounds.h"

#include "base/error.h"
#include "base/memory.h"
#include "data/directory.h"
#include "sound/ctc.h"
#include "task/task.h"

/* What the samples of a half are compared with. */
typedef struct sounds {
    const hu_dataset *dataset;
    int label, length; /* fields */
    int64_t stride;    /* frames of a row of scores */
} sounds;

/* Samples whose texts need more rows than they have. */
static hu_status count_short(const sounds *s, hu_half half, int64_t *count) {
    static const hu_loader_settings plain = {.seed = 0};
    hu_status st;
    hu_loader *loader = NULL;
    float *label = NULL, frames;
    *count = 0;
    HU_TRY(hu_loader_create(s->dataset, half, &plain, &loader));
    int64_t most = hu_dataset_fields(s->dataset, half)[s->label].extent[0];
    HU_TRY(HU_NEW_ARRAY(&label, (size_t)most));
    for (int64_t i = 0; i < hu_loader_count(loader); i++) {
        hu_loader_fill(loader, s->label, HU_READ_PLAIN, i, 1, label);
        hu_loader_fill(loader, s->length, HU_READ_PLAIN, i, 1, &frames);
        int64_t rows = ((int64_t)frames + s->stride - 1) / s->stride;
        *count += hu_ctc_least_rows(label, hu_loader_length(loader, s->label, i)) > rows;
    }
done:
    hu_free(label);
    hu_loader_close(loader);
    return st;
}

/* What of the files was not taken as it is. */
static void tell_files(const hu_dataset *dataset, hu_half half, const hu_listener *listener) {
    bool is_test = half == HU_HALF_TEST;
    const hu_sounds_told *told = &dataset->sounds[is_test];
    const char *name = is_test ? "test" : "training";
    int64_t count = is_test ? dataset->test.count : dataset->train.count;
    if (told->left_out > 0)
        hu_listener_tell(listener,
                         "note: %lld files beside the %s sounds are left out: their names do not "
                         "end in " HU_SOUND_ENDINGS,
                         (long long)told->left_out, name);
    if (told->resampled > 0)
        hu_listener_tell(listener,
                         "note: %lld of %lld %s sounds are resampled from another rate (data.rate)",
                         (long long)told->resampled, (long long)count, name);
    if (told->silent > 0)
        hu_listener_tell(listener,
                         "note: %lld of %lld %s sounds are silent: nothing in them is louder than "
                         "a ten-thousandth of full scale",
                         (long long)told->silent, (long long)count, name);
    if (told->cut > 0)
        hu_listener_tell(listener,
                         "note: %lld of %lld %s sounds are longer than a sample (data.frames), and "
                         "are cut",
                         (long long)told->cut, (long long)count, name);
}

static hu_status tell_half(const sounds *s, hu_half half, const hu_listener *listener) {
    bool is_test = half == HU_HALF_TEST;
    const hu_split *split = is_test ? &s->dataset->test : &s->dataset->train;
    const char *name = is_test ? "test" : "training";
    int64_t impossible;
    hu_status st = count_short(s, half, &impossible);
    if (st != HU_OK) return st;
    if (impossible > 0)
        hu_listener_tell(listener,
                         "note: %lld of %lld %s sounds are too short for what is said in them, and "
                         "are left out of the loss (ctc_impossible)",
                         (long long)impossible, (long long)split->count, name);
    return HU_OK;
}

hu_status hu_sounds_tell(const hu_trainer *trainer, const hu_dataset *dataset,
                         const hu_listener *listener) {
    const hu_graph *graph = hu_trainer_graph(trainer);
    sounds s = {.dataset = dataset,
                .label = hu_dataset_find(dataset, "label"),
                .length = hu_dataset_find(dataset, HU_LENGTHS_FIELD)};
    if (!dataset->only_test) tell_files(dataset, HU_HALF_TRAIN, listener);
    tell_files(dataset, HU_HALF_TEST, listener);
    if (hu_trainer_task(trainer) != &hu_task_transcribe) return HU_OK;
    int64_t frames = dataset->field[hu_dataset_find(dataset, "features")].extent[0];
    int64_t rows = graph->value[hu_task_prediction(graph)].shape.extent[0];
    s.stride = (frames + rows - 1) / rows;
    hu_status st = dataset->only_test ? HU_OK : tell_half(&s, HU_HALF_TRAIN, listener);
    return st == HU_OK ? tell_half(&s, HU_HALF_TEST, listener) : st;
}
