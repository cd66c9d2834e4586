/* Sentences in two languages: an input is the file of one, a byte 0xff, and that of the other. */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>

#include <halfulp/data.h>

#include "data/tokenizer.h"

enum { SOURCE, SOURCE_LENGTH, TOKENS, TARGETS, TARGET_LENGTH, PLACES = 4 };

static void check_rows(const hu_dataset *d) {
    const int32_t *words = d->train.rows[SOURCE_LENGTH], *said = d->train.rows[TARGET_LENGTH];
    for (int64_t i = 0; i < d->train.count; i++) {
        const int32_t *source = (const int32_t *)d->train.rows[SOURCE] + i * PLACES;
        const int32_t *tokens = (const int32_t *)d->train.rows[TOKENS] + i * PLACES;
        const int32_t *targets = (const int32_t *)d->train.rows[TARGETS] + i * PLACES;
        FUZZ_CHECK(words[i] >= 1 && words[i] < PLACES && said[i] >= 2 && said[i] <= PLACES);
        FUZZ_CHECK(tokens[0] == 1 && targets[said[i] - 1] == 2);
        for (int t = 0; t < PLACES; t++) {
            FUZZ_CHECK(source[t] >= 0 && source[t] < d->field[SOURCE].classes);
            FUZZ_CHECK((source[t] > 2) == (t < words[i]));
            FUZZ_CHECK((targets[t] >= 0) == (t < said[i]));
            FUZZ_CHECK(t == 0 || t >= said[i] || tokens[t] == targets[t - 1]);
        }
    }
}

/* The file of one language as the vocabulary of a run. */
static void check_vocabulary(void) {
    char path[512];
    hu_vocabulary words = {0};
    snprintf(path, sizeof path, "%s/train.a", fuzz_folder());
    hu_status st = hu_sentences_vocabulary_read(path, &words);
    FUZZ_CHECK(st == HU_OK || st == HU_ERR_CORRUPT || fuzz_was_fault(st));
    FUZZ_CHECK(st != HU_OK || words.count >= 3);
    hu_vocabulary_free(&words);
}

void fuzz_one(const uint8_t *data, size_t size) {
    const hu_image_choice choice = {
        .text = {.source = "a", .target = "b", .test = "train", .length = PLACES}};
    const uint8_t *end = size > 0 ? memchr(data, 0xff, size) : NULL;
    size_t first = end ? (size_t)(end - data) : size;
    char spec[512];
    hu_dataset *d;
    fuzz_keep("train.a", data, first);
    fuzz_keep("train.b", data + first + (end != NULL), size - first - (end != NULL));
    snprintf(spec, sizeof spec, "parallel:%s", fuzz_folder());
    check_vocabulary();
    if (size % 8 == 0) (void)FUZZ_DONE(hu_dataset_available(spec) ? HU_OK : HU_ERR_MEMORY);
    hu_status st = hu_dataset_open_images(spec, NULL, &choice, &d);
    FUZZ_CHECK((st == HU_OK) == (d != NULL));
    FUZZ_CHECK(d || st == HU_ERR_CORRUPT || st == HU_ERR_ARGUMENT || fuzz_was_fault(st));
    FUZZ_CHECK(d || fuzz_was_fault(st) || strstr(hu_last_error(), "train.") != NULL);
    if (d) check_rows(d);
    hu_dataset_close(d);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const char *const examples[] = {"A dog.\n\xff"
                                           "Un chien.\n",
                                           "one two\n\nthree \xc3\x84 four five\n\xff"
                                           "Eins, zwei\ndrei\nvier\n",
                                           "<pad>\n<bos>\n<eos>\n<unk>\na\n\xffx\n"};
    if (index >= sizeof examples / sizeof *examples) return false;
    return fuzz_text_seed(examples[index], seed);
}
