#include "settings/dataset.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/directory.h"
#include "data/fields.h"
#include "data/image_list.h"
#include "media/ctc.h"
#include "media/image.h"
#include "settings/options.h"
#include "task/task.h"

/* ---- Files that a command names, one by one or by their folder ---- */

/* folder NULL: the name is a path. */
static hu_status add(hu_given_files *files, const char *folder, const char *name) {
    hu_status st = hu_grow(&files->path, files->count, &files->capacity, sizeof *files->path);
    if (st != HU_OK) return st;
    char **path = &files->path[files->count];
    st = folder ? hu_path_join(folder, name, path) : hu_strdup(name, path);
    files->count += st == HU_OK;
    return st;
}

static void leave_out(hu_given_files *files, bool is_meant, hu_given_file_left *told) {
    files->left_out++;
    files->unread += is_meant;
    told(hu_last_error());
}

/* A file beside pictures that does not end as they do: one that is a picture all the same is read,
 * whatever its name; one of another kind may be meant too. */
static hu_status add_other(hu_given_files *files, const char *folder, const char *name,
                           hu_given_file_left *told) {
    char *path;
    hu_status st = hu_path_join(folder, name, &path);
    if (st != HU_OK) return st;
    st = hu_image_check_head(path);
    if (st == HU_OK) st = add(files, folder, name);
    bool is_foreign = st == HU_ERR_KIND;
    if (st == HU_ERR_CORRUPT || st == HU_ERR_LIMIT)
        st = hu_fail(HU_ERR_KIND, "%s: no picture (JPEG, PNG or WebP)", path);
    if (st == HU_ERR_IO || st == HU_ERR_MISSING || st == HU_ERR_KIND) {
        leave_out(files, is_foreign, told);
        st = HU_OK;
    }
    hu_free(path);
    return st;
}

/* What lies beside pictures in a folder. */
static hu_status add_others(hu_given_files *files, const char *folder, hu_given_file_left *told) {
    hu_file_names others = {0}, folders = {0};
    hu_status st;
    HU_TRY(hu_file_names_of_others(folder, &others));
    HU_TRY(hu_file_names_of_folders(folder, &folders));
    for (size_t i = 0; i < others.count; i++)
        HU_TRY(add_other(files, folder, others.name[i], told));
    for (size_t i = 0; i < folders.count; i++) {
        hu_fail(HU_ERR_KIND, "%s/%s: a folder in the folder; named by itself it is looked into",
                folder, folders.name[i]);
        leave_out(files, false, told);
    }
done:
    hu_file_names_free(&others);
    hu_file_names_free(&folders);
    return st;
}

/* Pictures, or sounds. */
static hu_status add_folder(hu_given_files *files, const char *folder, hu_given_file_left *told) {
    hu_file_names names = {0};
    size_t before = files->count;
    hu_status st;
    HU_TRY(hu_file_names_of_images(folder, &names));
    bool has_pictures = names.count > 0;
    if (!has_pictures) {
        hu_file_names_free(&names);
        HU_TRY(hu_file_names_of_sounds(folder, &names));
    }
    for (size_t i = 0; i < names.count; i++) HU_TRY(add(files, folder, names.name[i]));
    if (has_pictures || names.count == 0) HU_TRY(add_others(files, folder, told));
    if (files->count == before)
        HU_TRY(hu_fail(HU_ERR_MISSING,
                       "%s: found neither a picture (%s) nor a sound (%s), expected some in the "
                       "folder itself; data=folder:DIR judges pictures in folders of classes",
                       folder, HU_IMAGE_ENDINGS, HU_SOUND_ENDINGS));
done:
    hu_file_names_free(&names);
    return st;
}

hu_status hu_given_files_read(const hu_config *config, int first, hu_given_file_left *told,
                              hu_given_files *files) {
    hu_status st = HU_OK;
    for (int i = first; st == HU_OK && i < hu_config_subjects(config); i++) {
        const char *given = hu_config_subject(config, i);
        st = hu_is_folder(given) ? add_folder(files, given, told) : add(files, NULL, given);
    }
    return st;
}

/* JPEGs are decoded at an eighth of their size, all of their data is read. */
static hu_status try_picture(const char *path, hu_image_scratch *room, bool *is_readable) {
    enum { SIDE = 1 };
    *is_readable = true;
    if (hu_is_sound_name(path)) return HU_OK;
    hu_status st = hu_image_read(path, SIDE, room);
    hu_image_scratch_trim(room);
    *is_readable = st == HU_OK;
    return hu_image_is_unreadable(st) || st == HU_ERR_MISSING || st == HU_ERR_IO ? HU_OK : st;
}

hu_status hu_given_files_leave_out(hu_given_files *files, hu_given_file_left *told) {
    hu_status st = HU_OK;
    hu_image_scratch room = {0};
    size_t kept = 0, count = files->count;
    if (count + files->left_out < 2) return HU_OK;
    for (size_t i = 0; i < count; i++) {
        bool is_readable = true;
        if (st == HU_OK) st = try_picture(files->path[i], &room, &is_readable);
        if (is_readable || st != HU_OK) {
            files->path[kept++] = files->path[i];
        } else {
            leave_out(files, true, told);
            hu_free(files->path[i]);
        }
    }
    files->count = kept; /* of what is left the owner is the same, also after a failure */
    if (st == HU_OK && kept == 0 && count > 0)
        st = hu_fail(HU_ERR_CORRUPT, "%zu files, found none that can be read", count);
    hu_image_scratch_free(&room);
    return st;
}

void hu_given_files_free(hu_given_files *files) {
    for (size_t i = 0; i < files->count; i++) hu_free(files->path[i]);
    hu_free(files->path);
    *files = (hu_given_files){0};
}

/* ---- Sounds of which a model hears or learns less than there is ---- */

/* What the samples of a half are compared with. */
typedef struct sounds {
    const hu_dataset *dataset;
    int label, length; /* fields */
    int64_t stride;    /* frames of a row of scores */
} sounds;

/* Samples whose texts need more rows than they have. */
static hu_status count_short(const sounds *s, hu_split_kind half, int64_t *count) {
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
static void tell_files(const hu_dataset *dataset, hu_split_kind half, const hu_listener *listener) {
    bool is_test = half == HU_SPLIT_TEST;
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

static hu_status tell_half(const sounds *s, hu_split_kind half, const hu_listener *listener) {
    bool is_test = half == HU_SPLIT_TEST;
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
    if (!dataset->only_test) tell_files(dataset, HU_SPLIT_TRAIN, listener);
    tell_files(dataset, HU_SPLIT_TEST, listener);
    if (hu_trainer_task(trainer) != &hu_task_transcribe) return HU_OK;
    int64_t frames = dataset->field[hu_dataset_find(dataset, "features")].extent[0];
    int64_t rows = graph->value[hu_task_prediction(graph)].shape.extent[0];
    s.stride = (frames + rows - 1) / rows;
    hu_status st = dataset->only_test ? HU_OK : tell_half(&s, HU_SPLIT_TRAIN, listener);
    return st == HU_OK ? tell_half(&s, HU_SPLIT_TEST, listener) : st;
}

/* ---- The data set that a configuration names ---- */

/* "I/N" -> part and parts; 1/1 is everything. */
static hu_status read_part(hu_config *config, hu_image_choice *choice) {
    const char *text;
    long long part, parts;
    int end = 0;
    hu_status st = hu_config_text(config, "data.part", &text);
    if (st != HU_OK) return st;
    if (sscanf(text, "%7lld/%7lld%n", &part, &parts, &end) != 2 || text[end] || part < 1 ||
        parts < part)
        return hu_fail(HU_ERR_ARGUMENT, "data.part: found '%s', expected I/N with 1 <= I <= N",
                       text);
    if (parts == 1) return HU_OK;
    choice->part = part;
    choice->parts = parts;
    return HU_OK;
}

/* "0.5-2" or "1.5": the ratios by which pictures are scaled at random; 1 alone is none. */
static hu_status read_scales(hu_config *config, hu_image_choice *choice) {
    const char *text;
    int one = 0, two = 0;
    double least, most;
    hu_status st = hu_config_text(config, "data.scales", &text);
    if (st != HU_OK) return st;
    int found = sscanf(text, "%20lf%n-%20lf%n", &least, &one, &most, &two);
    if (found == 1) most = least;
    if (found < 1 || text[found == 1 ? one : two] || !(least >= 0.1 && most >= least && most <= 10))
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.scales: found '%s', expected a ratio or two, 0.5-2, from 0.1 to 10",
                       text);
    if (least == 1.0 && most == 1.0) return HU_OK;
    choice->least_scale = least;
    choice->most_scale = most;
    return HU_OK;
}

/* A text where it is not the word that means none; NULL there. */
static hu_status read_name(const hu_config *config, const char *key, const char *none,
                           const char **path) {
    hu_status st = hu_config_text(config, key, path);
    if (st != HU_OK) return st;
    if (!**path) return hu_fail(HU_ERR_ARGUMENT, "%s: found '', expected a name or %s", key, none);
    if (strcmp(*path, none) == 0) *path = NULL;
    return HU_OK;
}

/* As many streams as a batch has samples, which the recipe may have to say. */
static hu_status read_streams(hu_config *config, int64_t *streams) {
    bool is_on;
    hu_status st = hu_config_bool(config, "data.streams", &is_on);
    *streams = 0;
    if (st != HU_OK || !is_on) return st;
    st = hu_recipe_apply(config);
    return st == HU_OK ? hu_config_i64(config, "run.batch", streams) : st;
}

/* What of a folder of sentences. */
static hu_status read_parallel(const hu_config *config, hu_text_choice *choice) {
    hu_status st;
    HU_TRY(read_name(config, "data.source", "none", &choice->source));
    HU_TRY(read_name(config, "data.target", "none", &choice->target));
    HU_TRY(read_name(config, "data.test", "auto", &choice->test));
    HU_TRY(read_name(config, "data.source_vocabulary", "auto", &choice->source_vocabulary));
done:
    return st;
}

/* What is made of a text. */
static hu_status read_text(hu_config *config, hu_text_choice *choice) {
    const char *unit;
    hu_status st;
    HU_TRY(hu_config_text(config, "data.unit", &unit));
    if (strcmp(unit, "char") == 0) choice->unit = HU_TEXT_CHARACTERS;
    if (strcmp(unit, "word") == 0) choice->unit = HU_TEXT_WORDS;
    if (strcmp(unit, "piece") == 0) choice->unit = HU_TEXT_PIECES;
    HU_TRY(hu_config_i64(config, "data.length", &choice->length));
    HU_TRY(hu_config_i64(config, "data.min_count", &choice->least_count));
    HU_TRY(read_name(config, "data.valid", "none", &choice->valid));
    HU_TRY(read_name(config, "data.vocabulary", "auto", &choice->vocabulary));
    HU_TRY(read_parallel(config, choice));
    st = read_streams(config, &choice->streams);
done:
    return st;
}

/* data.labels: numbers of bytes, each once. */
static hu_status read_labels(const hu_config *config, hu_image_choice *choice) {
    const hu_keys *list;
    bool is_taken[HU_UNLABELLED_BYTE + 1] = {false};
    hu_status st = hu_config_list(config, "data.labels", &list);
    if (st != HU_OK) return st;
    size_t count = hu_keys_count(list);
    if (count == 1 && strcmp(hu_keys_value(hu_keys_at(list, 0)), "auto") == 0) return HU_OK;
    if (count < 2 || count > HU_LABELS_MAX)
        return hu_fail(HU_ERR_ARGUMENT, "data.labels: found %zu numbers, expected 2 to %d", count,
                       HU_LABELS_MAX);
    for (size_t i = 0; i < count; i++) {
        int64_t number;
        HU_TRY(hu_keys_as_i64(hu_keys_at(list, i), &number));
        if (number < 0 || number > HU_UNLABELLED_BYTE || is_taken[number])
            return hu_keys_fail(hu_keys_at(list, i), "different numbers from 0 to %d",
                                HU_UNLABELLED_BYTE);
        is_taken[number] = true;
        choice->labels[i] = (uint8_t)number;
    }
    choice->label_count = (int)count;
done:
    return st;
}

/* Which samples of a folder, and in which size; other data sets leave these alone. */
hu_status hu_session_image_choice(hu_config *config, hu_image_choice *choice) {
    hu_status st;
    int64_t seed, mebibytes, unlabelled;
    const char *damaged, *name;
    *choice = (hu_image_choice){0};
    HU_TRY(hu_config_text(config, "data.name", &name));
    choice->of_sounds = strncmp(name, "sounds:", strlen("sounds:")) == 0;
    HU_TRY(hu_config_i64(config, "data.size", &choice->size));
    HU_TRY(hu_config_i64(config, "data.crop", &choice->crop));
    HU_TRY(hu_config_i64(config, "data.classes", &choice->classes));
    HU_TRY(hu_config_i64(config, "data.class_seed", &seed));
    choice->seed = (uint64_t)seed;
    HU_TRY(hu_config_f64(config, "data.area", &choice->area));
    HU_TRY(hu_config_f64(config, "data.validation", &choice->held));
    HU_TRY(hu_config_text(config, "data.damaged", &damaged));
    choice->skips_damaged = strcmp(damaged, "skip") == 0;
    HU_TRY(hu_config_i64(config, "data.memory", &mebibytes));
    choice->memory = (uint64_t)mebibytes << 20;
    HU_TRY(hu_config_i64(config, "data.unlabelled", &unlabelled));
    choice->unlabelled = unlabelled + 1;
    HU_TRY(read_labels(config, choice));
    HU_TRY(hu_config_i64(config, "data.scale", &choice->scale));
    HU_TRY(hu_config_i64(config, "data.crops", &choice->crops));
    HU_TRY(hu_config_bool(config, "data.box_samples", &choice->box_samples));
    HU_TRY(hu_config_i64(config, "data.frames", &choice->frames));
    HU_TRY(hu_config_i64(config, "data.rate", &choice->rate));
    HU_TRY(read_text(config, &choice->text));
    HU_TRY(read_scales(config, choice));
    HU_TRY(read_part(config, choice));
done:
    return st;
}

/* Numbers of a key, one per channel; where it is "auto", those of the data set stay. */
static hu_status read_channels(const hu_config *config, const char *key, double least,
                               int64_t channels, float *numbers) {
    hu_status st = HU_OK;
    const hu_keys *list;
    double number;
    HU_TRY(hu_config_list(config, key, &list));
    size_t count = hu_keys_count(list);
    if (count == 1 && strcmp(hu_keys_value(hu_keys_at(list, 0)), "auto") == 0) return HU_OK;
    if (count != (size_t)channels)
        return hu_fail(HU_ERR_ARGUMENT,
                       "%s: found %zu numbers, expected one for each channel of an image: %lld",
                       key, count, (long long)channels);
    for (size_t c = 0; c < count; c++) {
        HU_TRY(hu_keys_as_f64(hu_keys_at(list, c), &number));
        if (!(number >= least && number <= 1))
            return hu_keys_fail(hu_keys_at(list, c), "a number from %g to 1", least);
        numbers[c] = (float)number;
    }
done:
    return st;
}

/* How bytes become numbers, where the user wants it otherwise. Data without images have no
 * channels, and take auto only. */
static hu_status read_constants(const hu_config *config, hu_dataset *dataset) {
    hu_field none = {.rank = 0}, *image = &none;
    int found = hu_dataset_find(dataset, "image");
    if (found >= 0 && dataset->field[found].type == HU_FIELD_U8) image = &dataset->field[found];
    hu_status st = read_channels(config, "data.mean", 0, image->extent[2], image->mean);
    if (st == HU_OK) st = read_channels(config, "data.std", 1e-6, image->extent[2], image->std);
    return st;
}

/* data.validation: samples held out of the training part, drawn by the seed of the data. */
static hu_status hold_out(const hu_config *config, hu_dataset *dataset) {
    double amount;
    int64_t seed;
    hu_status st = hu_config_f64(config, "data.validation", &amount);
    if (st == HU_OK) st = hu_config_i64(config, "data.class_seed", &seed);
    if (st != HU_OK || amount == 0.0) return st;
    return hu_dataset_hold_out(dataset, amount, (uint64_t)seed);
}

/* data.frame: a black border, after the constants, which are those of the images alone. */
static hu_status put_frame(const hu_config *config, hu_dataset *dataset) {
    int64_t pixels;
    hu_status st = hu_config_i64(config, "data.frame", &pixels);
    return st == HU_OK ? hu_dataset_frame(dataset, pixels) : st;
}

/* data.mixup, data.cutmix: a field that says what each sample is mixed with. */
static hu_status put_mix(const hu_config *config, hu_dataset *dataset) {
    double mixup, cutmix;
    hu_status st = hu_config_f64(config, "data.mixup", &mixup);
    if (st == HU_OK) st = hu_config_f64(config, "data.cutmix", &cutmix);
    if (st != HU_OK || (mixup == 0.0 && cutmix == 0.0)) return st;
    return hu_dataset_mix(dataset);
}

/* Who hears of a long folder, and how many files they have heard of. */
typedef struct listing {
    const hu_listener *listener;
    int64_t told;
} listing;

/* A line for every so many files, so that a million are not silence. */
static void tell_listed(void *context, const char *directory, int64_t files) {
    enum { EVERY = 50000 };
    listing *l = context;
    if (files < l->told) l->told = 0; /* another half */
    if (files / EVERY == l->told / EVERY) return;
    l->told = files;
    hu_listener_tell(l->listener, "%s: %lld files listed so far", directory, (long long)files);
}

/* What of the files is no sample. */
static void tell_left_out(const hu_dataset *dataset, const hu_listener *listener) {
    const int64_t *left = dataset->left_out;
    for (const char *line = dataset->note; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        hu_listener_tell(listener, "%.*s", (int)strcspn(line, "\n"), line);
    }
    if (left[0] + left[1] == 0 || hu_dataset_find(dataset, "source") < 0) return;
    hu_listener_tell(listener,
                     "%s: %lld pairs of training and %lld of testing are left out: more than "
                     "%lld words (data.length - 1), or none",
                     dataset->name, (long long)left[0], (long long)left[1],
                     (long long)dataset->field[0].extent[0] - 1);
}

/* Boxes of a half that are not as their files have them. */
static void tell_boxes(const hu_dataset *dataset, int half, const hu_listener *listener) {
    static const char *const name[] = {"training", "test"};
    const hu_boxes_told *told = &dataset->boxes[half];
    if (told->cut > 0)
        hu_listener_tell(listener,
                         "note: %lld of %lld %s boxes end beyond their picture, and are cut to it",
                         (long long)told->cut, (long long)told->boxes, name[half]);
    if (told->empty + told->turned > 0)
        hu_listener_tell(listener,
                         "note: %lld of %lld %s boxes are left out: %lld lie outside of their "
                         "picture or have no area, of %lld xmin is above xmax or ymin above ymax",
                         (long long)(told->empty + told->turned), (long long)told->boxes,
                         name[half], (long long)told->empty, (long long)told->turned);
    if (told->renamed > 0)
        hu_listener_tell(listener,
                         "note: %lld annotations of %s pictures name another file in <filename> "
                         "than their own; pictures are found by the annotation's own name",
                         (long long)told->renamed, name[half]);
}

/* The first samples by name may be of a few kinds alone. */
static void tell_limit(const hu_dataset *dataset, const hu_data_limits *limits,
                       const hu_listener *listener) {
    static const char *const by_name[] = {"dense:", "boxes:", "pairs:"};
    for (size_t i = 0; i < sizeof by_name / sizeof *by_name; i++)
        if (limits->train > 0 && strncmp(dataset->name, by_name[i], strlen(by_name[i])) == 0)
            hu_listener_tell(listener,
                             "note: data.limit takes the first %lld training pictures %s, not "
                             "some of all kinds",
                             (long long)limits->train,
                             by_name[i][0] == 'b' ? "of the list" : "by name");
}

/* Where the samples to test with come from, if not from a part of their own: told as they are
 * drawn, not whenever the run is opened again. */
static void tell_held(const hu_dataset *dataset, const hu_listener *listener) {
    if (dataset->holds_test)
        hu_listener_tell(listener,
                         "%s: neither val nor test is there: %lld of %lld images are drawn to test "
                         "with, a share of each class (data.validation)",
                         dataset->name, (long long)dataset->test.count,
                         (long long)(dataset->test.count + dataset->train.count));
}

hu_status hu_session_dataset(hu_config *config, const hu_listener *listener, hu_dataset **dataset) {
    static const hu_data_known nothing = {.classes = 0};
    hu_status st = hu_session_dataset_known(config, listener, &nothing, dataset);
    if (st == HU_OK) tell_held(*dataset, listener);
    return st;
}

/* Data that a run was once given may have been moved since, or were named from another place. */
static hu_status say_where(const hu_config *config, hu_status st, const char *name,
                           const hu_data_known *known) {
    bool is_recalled = hu_config_given(config, "data.name") &&
                       !hu_config_asked(config, "data.name") && known->file_count == 0;
    size_t kind = strcspn(name, ":");
    if (st != HU_ERR_MISSING || !is_recalled || !name[kind]) return st;
    return hu_fail(st, "%s. The run was trained on data=%s: data=%.*s:PATH says where that is now",
                   hu_last_error(), name, (int)kind, name);
}

hu_status hu_session_dataset_known(hu_config *config, const hu_listener *listener,
                                   const hu_data_known *known, hu_dataset **dataset) {
    const char *name;
    hu_data_limits limits;
    hu_image_choice choice;
    hu_status st = HU_OK;
    *dataset = NULL;
    listing seen = {listener, 0};
    HU_TRY(hu_recipe_data(config));
    HU_TRY(hu_session_image_choice(config, &choice));
    choice.told = tell_listed;
    choice.context = &seen;
    choice.known = *known;
    HU_TRY(hu_config_text(config, "data.name", &name));
    HU_TRY(hu_config_i64(config, "data.limit", &limits.train));
    HU_TRY(hu_config_i64(config, "data.test_limit", &limits.test));
    /* Only a default gives way; a data set that was asked for and is not there is an error. */
    if (!hu_config_given(config, "data.name") && !hu_dataset_available(name)) {
        hu_listener_tell(listener,
                         "data set %s is not installed (Debian: dataset-fashion-mnist); "
                         "using the synthetic glyphs instead",
                         name);
        HU_TRY(hu_config_set(config, "data.name", "glyphs", "fall-back"));
        name = "glyphs";
    }
    HU_TRY(say_where(config, hu_dataset_open_images(name, &limits, &choice, dataset), name, known));
    tell_left_out(*dataset, listener);
    if (!(*dataset)->only_test) tell_limit(*dataset, &limits, listener);
    tell_boxes(*dataset, 0, listener);
    tell_boxes(*dataset, 1, listener);
    HU_TRY(read_constants(config, *dataset));
    HU_TRY(put_frame(config, *dataset));
    HU_TRY(put_mix(config, *dataset));
    if (!(*dataset)->only_test && !(*dataset)->holds_test) HU_TRY(hold_out(config, *dataset));
done:
    if (st != HU_OK && *dataset) {
        hu_dataset_close(*dataset);
        *dataset = NULL;
    }
    return st;
}
