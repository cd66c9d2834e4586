/* How fast images are read, beside libjpeg-turbo decoding the same files and doing nothing else.
 *
 *   cc -O2 -pthread -Iinclude bench/peers/loader.c -o loader -Lbuild -lhalfulp -lturbojpeg
 *   LD_LIBRARY_PATH=build ./loader FOLDER SIZE CROP THREADS ROUNDS
 *
 * FOLDER holds train/CLASS/FILE.jpg and val (or test). Each round takes four in turns:
 * libjpeg-turbo decodes the files from memory, to an odd address; the same to a multiple of 64,
 * from where it writes rows past the caches, as with half of malloc's small blocks and most arrays
 * of others; to the odd address, reading each file first; an epoch of the loader, which reads,
 * decodes, resizes to SIZE, cuts to CROP and mirrors at random, and normalises to float32 in an
 * order of its own: batches of 100, of which the calling thread makes floats four at a time, as a
 * training's chunks are. Each on THREADS threads. Rates are images per second of the clock, and of
 * processor time of the whole process, which other work on the machine hardly changes. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <turbojpeg.h>

#include <halfulp/data.h>

enum { MEMORY, ALIGNED, FILES, LOADER, WAYS };
enum { BATCH = 100, CHUNK = 4, MOST = 1 << 20, PATH = 4096, THREADS = 64, ALIGNMENT = 64 };

typedef struct file {
    char *path;
    unsigned char *data;
    unsigned long bytes;
} file;

static file files[MOST];
static int file_count;

static double seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void read_file(const char *path) {
    FILE *in = fopen(path, "rb");
    if (!in || file_count == MOST) exit(3);
    fseek(in, 0, SEEK_END);
    file *f = &files[file_count++];
    f->bytes = (unsigned long)ftell(in);
    rewind(in);
    f->data = malloc(f->bytes);
    f->path = strdup(path);
    if (fread(f->data, 1, f->bytes, in) != f->bytes) exit(3);
    fclose(in);
}

/* The files of train/CLASS. */
static void read_folder(const char *folder) {
    char path[PATH];
    snprintf(path, sizeof path, "%s/train", folder);
    DIR *classes = opendir(path);
    if (!classes) exit(3);
    for (const struct dirent *c; (c = readdir(classes));) {
        if (c->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/train/%s", folder, c->d_name);
        DIR *names = opendir(path);
        for (const struct dirent *n; names && (n = readdir(names));) {
            if (n->d_name[0] == '.') continue;
            snprintf(path, sizeof path, "%s/train/%s/%s", folder, c->d_name, n->d_name);
            read_file(path);
        }
        if (names) closedir(names);
    }
    closedir(classes);
}

/* The bytes of file i, read anew if asked for; from: room that grows. */
static unsigned char *bytes_of(int i, bool reads, unsigned char **from, size_t *room) {
    if (!reads) return files[i].data;
    if (files[i].bytes > *room) *from = realloc(*from, *room = files[i].bytes);
    int descriptor = open(files[i].path, O_RDONLY);
    if (read(descriptor, *from, files[i].bytes) != (ssize_t)files[i].bytes) exit(3);
    close(descriptor);
    return *from;
}

/* What the threads of libjpeg-turbo share. */
typedef struct decoding {
    _Atomic int next;
    bool reads;
    size_t shift; /* of the pixels from a multiple of ALIGNMENT */
} decoding;

static void *decode_some(void *context) {
    enum { SOME = 8 };
    decoding *d = context;
    tjhandle decoder = tjInitDecompress();
    unsigned char *pixels = NULL, *read_bytes = NULL;
    size_t room = 0, file_room = 0;
    for (int first; (first = atomic_fetch_add(&d->next, SOME)) < file_count;)
        for (int i = first; i < first + SOME && i < file_count; i++) {
            int w, h, sampling, space;
            unsigned char *data = bytes_of(i, d->reads, &read_bytes, &file_room);
            tjDecompressHeader3(decoder, data, files[i].bytes, &w, &h, &sampling, &space);
            size_t need = (size_t)w * (size_t)h * 3;
            if (need > room) {
                room = (need + d->shift + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
                free(pixels);
                pixels = aligned_alloc(ALIGNMENT, room);
                room -= d->shift;
            }
            tjDecompress2(decoder, data, files[i].bytes, pixels + d->shift, w, 0, h, TJPF_RGB,
                          TJFLAG_ACCURATEDCT);
        }
    tjDestroy(decoder);
    free(pixels);
    free(read_bytes);
    return NULL;
}

/* Threads that end: those of OpenMP would turn in the time of who comes next. */
static void decode_all(int threads, int way) {
    decoding shared = {.reads = way == FILES, .shift = way == ALIGNED ? 0 : 1};
    pthread_t thread[THREADS];
    for (int t = 0; t < threads; t++)
        if (pthread_create(&thread[t], NULL, decode_some, &shared) != 0) exit(3);
    for (int t = 0; t < threads; t++) pthread_join(thread[t], NULL);
}

static void fail(void) {
    fprintf(stderr, "%s\n", hu_last_error());
    exit(3);
}

/* One epoch; the sum keeps the numbers from being optimised away. */
static double run_epoch(hu_loader *loader, int64_t epoch, int64_t elements, float *rows) {
    double sum = 0;
    if (hu_loader_begin_epoch(loader, epoch) != HU_OK) fail();
    int64_t count = hu_loader_count(loader);
    for (int64_t p = 0; p < count; p += BATCH) {
        int64_t n = count - p < BATCH ? count - p : BATCH;
        if (hu_loader_want(loader, p, n) != HU_OK) fail();
        for (int64_t i = p; i < p + n; i += CHUNK) {
            int64_t some = p + n - i < CHUNK ? p + n - i : CHUNK;
            hu_loader_fill(loader, HU_FIELD_IMAGE, HU_READ_NORMALISED, i, some, rows);
            sum += (double)rows[some * elements - 1];
        }
    }
    return sum;
}

/* The fastest round counts: other work on the machine only ever costs time. */
static void keep_least(double time, double *least) {
    if (*least == 0.0 || time < *least) *least = time;
}

int main(int count, char **words) {
    if (count < 6 || atoi(words[4]) > THREADS) return 2;
    int size = atoi(words[2]), threads = atoi(words[4]), rounds = atoi(words[5]);
    char spec[PATH];
    hu_dataset *data;
    hu_loader *loader;
    double cpu[WAYS] = {0}, wall[WAYS] = {0}, sum = 0;
    const hu_image_choice choice = {.size = size, .crop = atoi(words[3]), .memory = 24 << 20};
    snprintf(spec, sizeof spec, "folder:%s", words[1]);
    if (hu_dataset_open_images(spec, NULL, &choice, &data) != HU_OK) fail();
    hu_loader_settings settings = {.seed = 1, .shuffle = true, .augment = data->augment};
    settings.window = BATCH;
    settings.threads = threads;
    if (hu_loader_create(data, HU_SPLIT_TRAIN, &settings, &loader) != HU_OK) fail();
    int64_t elements = hu_field_elements(&data->field[HU_FIELD_IMAGE]);
    float *rows = malloc((size_t)(CHUNK * elements) * sizeof *rows);
    read_folder(words[1]);
    if (file_count != hu_loader_count(loader) || data->train.rows[HU_FIELD_IMAGE]) {
        fprintf(stderr, "found %d files and %lld images, or images in memory\n", file_count,
                (long long)hu_loader_count(loader));
        return 3;
    }
    for (int r = -1; r < rounds; r++) /* round -1 warms up */
        for (int way = 0; way < WAYS; way++) {
            double c = seconds(CLOCK_PROCESS_CPUTIME_ID), w = seconds(CLOCK_MONOTONIC);
            if (way == LOADER)
                sum += run_epoch(loader, r + 1, elements, rows);
            else
                decode_all(threads, way);
            if (r < 0) continue;
            keep_least(seconds(CLOCK_PROCESS_CPUTIME_ID) - c, &cpu[way]);
            keep_least(seconds(CLOCK_MONOTONIC) - w, &wall[way]);
        }
    static const char *const names[WAYS] = {"libjpeg-turbo, from memory",
                                            "same, to a multiple of 64",
                                            "libjpeg-turbo, from files", "loader, from files"};
    double images = file_count;
    printf("%d images, %d rounds, %d threads, size %d, crop %s; images/s of processor time, of the "
           "clock (the loader's rate over it)\n",
           file_count, rounds, threads, size, words[3]);
    for (int way = 0; way < WAYS; way++)
        printf("%-28s %8.0f (%.3f) %8.0f (%.3f)\n", names[way], images / cpu[way],
               cpu[way] / cpu[LOADER], images / wall[way], wall[way] / wall[LOADER]);
    hu_loader_close(loader);
    hu_dataset_close(data);
    free(rows);
    return sum != sum;
}
