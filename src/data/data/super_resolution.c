#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/rng.h"
#include "data/augment.h"
#include "data/directory.h"
#include "data/kinds.h"
#include "data/parallel_for.h"
#include "media/image.h"
#include "media/image_resize.h"

/* ---- pairs ---- */

/* pairs:DIR - pictures in DIR/train and DIR/test (or val), each with a small one that is made of
 * it: what a network is to enlarge. Training samples are crops, test samples whole pictures. */

enum {
    SMALL,
    LARGE,
    FIELDS,
    USUAL_SCALE = 4,
    MOST_SCALE = 16,
    USUAL_CROP = 24,
    USUAL_CROPS = 50,
    MOST_CROPS = 1 << 30,
    WORDS = 3,
    OF_TRAIN = 4, /* a half of what training may hold, and of what tests may: the other half, and */
    OF_TEST = 8   /* what pictures leave of this one, is for reading ahead */
};

/* Bytes [height, width, 3] and [scale height, scale width, 3]. */
typedef struct pair {
    int64_t height, width;
    uint8_t *small, *large;
} pair;

typedef struct pairs_reader {
    hu_reader reader;
    char *folder;
    hu_file_names names;
    hu_skipped_files left; /* what lies beside the pictures */
    int64_t scale;
    int64_t crop;          /* side of small crops; 0: whole pictures */
    int64_t height, width; /* of small samples */
    pair *kept;            /* [names.count]; NULL: too many to be kept, or given up */
    pthread_rwlock_t lock; /* of kept, while samples are read */
} pairs_reader;

static void free_pair(pair *p) {
    hu_free(p->small);
    hu_free(p->large);
    *p = (pair){0};
}

static void drop_pairs(hu_reader *reader) {
    pairs_reader *pairs = (pairs_reader *)reader;
    pthread_rwlock_wrlock(&pairs->lock);
    for (size_t i = 0; pairs->kept && i < pairs->names.count; i++) free_pair(&pairs->kept[i]);
    hu_free(pairs->kept);
    pairs->kept = NULL;
    reader->kept_bytes = 0;
    pthread_rwlock_unlock(&pairs->lock);
}

static void close_pairs(hu_reader *reader) {
    pairs_reader *pairs = (pairs_reader *)reader;
    drop_pairs(reader);
    pthread_rwlock_destroy(&pairs->lock);
    hu_free(pairs->folder);
    hu_file_names_free(&pairs->names);
    hu_free(pairs);
}

static hu_status list_file(const hu_reader *reader, int64_t i, char **path) {
    const pairs_reader *pairs = (const pairs_reader *)reader;
    *path = NULL;
    if (i >= (int64_t)pairs->names.count) return HU_OK;
    return hu_path_join(pairs->folder, pairs->names.name[i], path);
}

/* Copies the top left part. */
static void take_corner(const hu_image *image, int64_t height, int64_t width, uint8_t *corner) {
    int64_t from = image->width * HU_IMAGE_CHANNELS, to = width * HU_IMAGE_CHANNELS;
    for (int64_t y = 0; y < height; y++)
        memcpy(corner + y * to, image->pixels + y * from, (size_t)to);
}

/* Least side of a small picture. */
static int64_t least_side(const pairs_reader *pairs) {
    return pairs->crop > 0 ? pairs->crop : 1;
}

static hu_status check_size(const pairs_reader *pairs, const char *path, const pair *p) {
    int64_t least = least_side(pairs), scale = pairs->scale;
    if (p->height < least || p->width < least)
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: found an image that leaves %lldx%lld pixels at 1/%lld, expected at "
                       "least %lldx%lld (a picture of %lldx%lld)%s",
                       path, (long long)p->width, (long long)p->height, (long long)scale,
                       (long long)least, (long long)least, (long long)(least * scale),
                       (long long)(least * scale),
                       pairs->crop > 0 ? "; data.crop=N makes training crops smaller" : "");
    bool is_first = pairs->height == 0;
    if (pairs->crop > 0 || is_first || (p->height == pairs->height && p->width == pairs->width))
        return HU_OK;
    return hu_fail(HU_ERR_CORRUPT,
                   "%s: found a test image of %lldx%lld pixels (whole multiples of %lld), expected "
                   "%lldx%lld as the first one has: test images are of one size",
                   path, (long long)(scale * p->width), (long long)(scale * p->height),
                   (long long)scale, (long long)(scale * pairs->width),
                   (long long)(scale * pairs->height));
}

/* Rows and columns that fill no small pixel are cut off at the bottom and at the right. Owner frees
 * with free_pair, also on failure. */
static hu_status read_pair(const pairs_reader *pairs, int64_t image, pair *made) {
    hu_status st;
    char *path = NULL;
    int64_t height, width;
    hu_image_scratch room = {0};
    *made = (pair){0};
    HU_TRY(hu_path_join(pairs->folder, pairs->names.name[image], &path));
    HU_TRY(hu_image_read_upright(path, HU_IMAGE_PIXELS_MAX, &room));
    made->height = room.image.height / pairs->scale;
    made->width = room.image.width / pairs->scale;
    HU_TRY(check_size(pairs, path, made));
    height = made->height * pairs->scale;
    width = made->width * pairs->scale;
    HU_TRY(HU_NEW_ARRAY(&made->large, (size_t)(height * width * HU_IMAGE_CHANNELS)));
    take_corner(&room.image, height, width, made->large);
    HU_TRY(HU_NEW_ARRAY(&made->small, (size_t)(made->height * made->width * HU_IMAGE_CHANNELS)));
    HU_TRY(hu_bicubic_resize(made->large, height, width, made->height, made->width, made->small));
done:
    hu_image_scratch_free(&room);
    hu_free(path);
    return st;
}

/* Copies the rectangle of a picture of so many columns. */
static void copy_cut(const uint8_t *pixels, int64_t columns, const hu_image_cut *cut, uint8_t *to) {
    size_t row = (size_t)(cut->width * HU_IMAGE_CHANNELS);
    for (int64_t y = 0; y < cut->height; y++, to += row)
        memcpy(to, pixels + ((cut->top + y) * columns + cut->left) * HU_IMAGE_CHANNELS, row);
}

/* Sample number index of the training part is the crop that three words of a formula choose:
 * picture, row and column. So the data are the same whatever the seed of the run. */
static int64_t image_of(const pairs_reader *pairs, uint32_t hash, int64_t index) {
    if (pairs->crop == 0) return index;
    return hu_formula_word(hash, (uint32_t)(WORDS * index)) % (int64_t)pairs->names.count;
}

static void take_sample(const pairs_reader *pairs, const pair *p, uint32_t hash, int64_t index,
                        uint8_t *sample) {
    int64_t scale = pairs->scale;
    hu_image_cut cut = {.width = pairs->width, .height = pairs->height};
    if (pairs->crop > 0) {
        cut.top =
            hu_formula_word(hash, (uint32_t)(WORDS * index + 1)) % (p->height - cut.height + 1);
        cut.left =
            hu_formula_word(hash, (uint32_t)(WORDS * index + 2)) % (p->width - cut.width + 1);
    }
    const hu_image_cut large = {scale * cut.left, scale * cut.top, scale * cut.width,
                                scale * cut.height};
    copy_cut(p->small, p->width, &cut, sample);
    copy_cut(p->large, scale * p->width, &large, sample + pairs->reader.start[LARGE]);
}

/* Whether the picture was at hand. */
static bool take_kept(pairs_reader *pairs, int64_t image, uint32_t hash, int64_t index,
                      uint8_t *sample) {
    pthread_rwlock_rdlock(&pairs->lock);
    bool is_kept = pairs->kept != NULL;
    if (is_kept) take_sample(pairs, &pairs->kept[image], hash, index, sample);
    pthread_rwlock_unlock(&pairs->lock);
    return is_kept;
}

static hu_status read_pairs(const hu_reader *reader, const hu_reading_change *change, int64_t index,
                            hu_image_scratch *room, uint8_t *sample) {
    pairs_reader *pairs = (pairs_reader *)reader; /* its lock changes */
    uint32_t hash = hu_formula_hash(HU_FORMULA_HASH_START, "crop");
    int64_t image = image_of(pairs, hash, index);
    hu_status st = HU_OK;
    pair made = {0};
    (void)change;
    (void)room;
    if (take_kept(pairs, image, hash, index, sample)) return HU_OK;
    HU_TRY(read_pair(pairs, image, &made));
    take_sample(pairs, &made, hash, index, sample);
done:
    free_pair(&made);
    return st;
}

/* ---- opening ---- */

bool hu_pairs_available(const hu_data_kind *kind, const char *directory) {
    (void)kind;
    return hu_has_folder(directory, "train");
}

static hu_status check_choice(const hu_image_choice *c) {
    if (c->scale < 0 || c->scale == 1 || c->scale > MOST_SCALE)
        return hu_fail(HU_ERR_ARGUMENT, "data.scale: found %lld, expected 2 to %d",
                       (long long)c->scale, MOST_SCALE);
    if (c->crop < 0 || c->crop > HU_IMAGE_SIDE_MAX)
        return hu_fail(HU_ERR_ARGUMENT, "data.crop: found %lld, expected 0 to %d",
                       (long long)c->crop, HU_IMAGE_SIDE_MAX);
    if (c->crops < 0 || c->crops > MOST_CROPS)
        return hu_fail(HU_ERR_ARGUMENT, "data.crops: found %lld, expected 0 to %d",
                       (long long)c->crops, MOST_CROPS);
    return HU_OK;
}

/* The names of a half. Owner closes the reader, also on failure. */
static hu_status open_half(const char *directory, const char *half, int64_t limit,
                           const hu_image_choice *choice, pairs_reader **made) {
    hu_status st;
    HU_TRY(HU_NEW(made));
    pairs_reader *pairs = *made;
    pairs->scale = choice->scale ? choice->scale : USUAL_SCALE;
    pthread_rwlock_init(&pairs->lock, NULL);
    pairs->reader.close = close_pairs;
    pairs->reader.list = list_file;
    pairs->reader.drop = drop_pairs;
    pairs->reader.read = read_pairs;
    HU_TRY(hu_path_join(directory, half, &pairs->folder));
    HU_TRY(hu_file_names_of_images_counted(pairs->folder, &pairs->names, &pairs->left));
    if (pairs->names.count == 0)
        HU_TRY(hu_fail(HU_ERR_CORRUPT, "%s: found no image (" HU_IMAGE_ENDINGS ")", pairs->folder));
    pairs->names.count = (size_t)hu_limited((int64_t)pairs->names.count, limit);
done:
    return st;
}

/* DIR/test, or DIR/val. The first picture has the size of all. */
static hu_status open_test(const char *directory, int64_t limit, const hu_image_choice *choice,
                           pairs_reader **made) {
    hu_status st;
    const char *half;
    pair first = {0};
    HU_TRY(hu_test_split(directory, &half));
    HU_TRY(open_half(directory, half, limit, choice, made));
    HU_TRY(read_pair(*made, 0, &first));
    (*made)->height = first.height;
    (*made)->width = first.width;
done:
    free_pair(&first);
    return st;
}

/* Pictures that are decoded once and kept. */
typedef struct keeping {
    const pairs_reader *pairs;
    pair *kept;
    uint64_t most;
    _Atomic uint64_t bytes;
} keeping;

/* One that would be too much is given back at once, and no other is decoded. */
static hu_status keep(void *context, int64_t image) {
    keeping *k = context;
    if (atomic_load(&k->bytes) > k->most) return HU_OK;
    pair *made = &k->kept[image];
    hu_status st = read_pair(k->pairs, image, made);
    if (st != HU_OK) return st;
    uint64_t small = (uint64_t)(made->height * made->width * HU_IMAGE_CHANNELS);
    uint64_t scale = (uint64_t)k->pairs->scale, bytes = small * (1 + scale * scale);
    if (atomic_fetch_add(&k->bytes, bytes) + bytes > k->most) {
        free_pair(made);
        return HU_OK;
    }
    hu_memory_assign(made->small, HU_MEMORY_DATA);
    hu_memory_assign(made->large, HU_MEMORY_DATA);
    return HU_OK;
}

/* All pictures of a half, where they fit; else samples are made of files whenever they are wanted.
 */
static hu_status keep_all(pairs_reader *pairs, uint64_t most) {
    hu_status st;
    keeping k = {.pairs = pairs, .most = most};
    HU_TRY(HU_NEW_ARRAY(&k.kept, pairs->names.count));
    st = hu_data_each((int64_t)pairs->names.count, keep, &k);
    if (st == HU_OK && k.bytes <= most) {
        pairs->kept = k.kept;
        pairs->reader.kept_bytes = k.bytes;
        return HU_OK;
    }
    for (size_t i = 0; i < pairs->names.count; i++) free_pair(&k.kept[i]);
    hu_free(k.kept);
done:
    return st;
}

static void set_fields(const pairs_reader *pairs, hu_field *field) {
    static const char *const names[FIELDS] = {"small", "large"};
    for (int f = 0; f < FIELDS; f++) {
        int64_t scale = f == LARGE ? pairs->scale : 1;
        field[f] =
            (hu_field){.type = HU_FIELD_U8,
                       .rank = 3,
                       .extent = {scale * pairs->height, scale * pairs->width, HU_IMAGE_CHANNELS},
                       .is_spatial = true};
        strcpy(field[f].name, names[f]);
    }
}

/* Gives the reader to a split of the data set. */
static void give(pairs_reader *pairs, int64_t count, uint64_t memory, hu_split *split) {
    size_t small = (size_t)(pairs->height * pairs->width * HU_IMAGE_CHANNELS);
    pairs->reader.reads[SMALL] = pairs->reader.reads[LARGE] = true;
    pairs->reader.start[LARGE] = small;
    pairs->reader.sample_bytes = small * (size_t)(1 + pairs->scale * pairs->scale);
    pairs->reader.memory_bytes = memory;
    *split = (hu_split){.count = count, .reader = &pairs->reader};
}

/* Test pictures are as large as they are. */
static hu_status set_test_fields(const pairs_reader *test, hu_dataset *dataset) {
    hu_field *field;
    hu_status st = HU_NEW_ARRAY(&field, FIELDS);
    if (st != HU_OK) return st;
    dataset->owned[0] = field;
    set_fields(test, field);
    dataset->test.field = field;
    return HU_OK;
}

hu_status hu_pairs_open(const hu_data_kind *kind, const char *directory,
                        const hu_data_limits *limits, const hu_image_choice *choice,
                        hu_dataset *dataset) {
    (void)kind;
    hu_status st;
    pairs_reader *train = NULL, *test = NULL;
    HU_TRY(check_choice(choice));
    HU_TRY(open_half(directory, "train", limits->train, choice, &train));
    train->crop = train->height = train->width = choice->crop ? choice->crop : USUAL_CROP;
    HU_TRY(open_test(directory, limits->test, choice, &test));
    hu_skipped_files_add(&test->left, &train->left);
    HU_TRY(hu_note_left(&dataset->note, directory, &test->left));
    uint64_t memory = hu_keeping_decide(choice->memory, -1, 0, 1).memory;
    HU_TRY(keep_all(train, memory / OF_TRAIN));
    HU_TRY(keep_all(test, memory / OF_TEST));
    int64_t crops = choice->crops ? choice->crops : USUAL_CROPS * (int64_t)train->names.count;
    give(train, crops, memory, &dataset->train);
    give(test, (int64_t)test->names.count, memory, &dataset->test);
    set_fields(train, dataset->field);
    dataset->field_count = FIELDS;
    st = set_test_fields(test, dataset);
    train = test = NULL; /* the data set closes them */
done:
    if (train) close_pairs(&train->reader);
    if (test) close_pairs(&test->reader);
    return st;
}
