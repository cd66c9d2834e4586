/* Files of words: the first byte of an input says which it is, a vocabulary of words, characters or
 * pieces, or the transcripts of two sounds. */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "data/transcripts.h"
#include "data/vocabulary.h"

enum { UNITS = 3, KINDS = UNITS + 1 };
static const hu_text_unit units[UNITS] = {HU_TEXT_WORDS, HU_TEXT_CHARACTERS, HU_TEXT_PIECES};

static void check_failure(hu_status st) {
    FUZZ_CHECK(st == HU_ERR_CORRUPT || st == HU_ERR_LIMIT || fuzz_was_fault(st));
    FUZZ_CHECK(fuzz_was_fault(st) || strstr(hu_last_error(), ".txt") != NULL);
}

/* Every word is found under its number, and no other. */
static void read_vocabulary(hu_text_unit unit, const uint8_t *data, size_t bytes) {
    char path[512];
    hu_vocabulary words = {0};
    fuzz_put(HU_VOCABULARY_FILE, data, bytes);
    snprintf(path, sizeof path, "%s/" HU_VOCABULARY_FILE, fuzz_folder());
    hu_status st = hu_vocabulary_read(path, unit, &words);
    if (st != HU_OK) check_failure(st);
    for (size_t i = 0; st == HU_OK && i < words.count; i++) {
        FUZZ_CHECK(words.word[i].length > 0);
        FUZZ_CHECK(hu_vocabulary_find(&words, words.word[i].at, words.word[i].length) ==
                   (int64_t)i);
    }
    hu_vocabulary_free(&words);
}

static void read_transcripts(const uint8_t *data, size_t bytes) {
    hu_file_names sounds = {0};
    hu_transcripts said = {0};
    fuzz_put("a.wav", "", 0);
    fuzz_put("b.wav", "", 0);
    fuzz_put("transcripts.txt", data, bytes);
    if (FUZZ_DONE(hu_file_names_of_sounds(fuzz_folder(), &sounds))) {
        hu_status st = hu_transcripts_read(fuzz_folder(), &sounds, false, &said);
        if (st != HU_OK) check_failure(st);
        for (size_t i = 0; st == HU_OK && i < (size_t)sounds.count; i++) {
            FUZZ_CHECK(said.text[i] != NULL);
            for (const char *c = said.text[i]; *c; c++) FUZZ_CHECK(*c < 'A' || *c > 'Z');
        }
    }
    hu_transcripts_free(&said);
    hu_file_names_free(&sounds);
}

void fuzz_one(const uint8_t *data, size_t size) {
    fuzz_cursor cursor = {data, size, 0};
    int kind = fuzz_u8(&cursor) % KINDS;
    size_t bytes = size;
    const uint8_t *file = fuzz_take(&cursor, &bytes);
    if (kind < UNITS)
        read_vocabulary(units[kind], file, bytes);
    else
        read_transcripts(file, bytes);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const char *const examples[] = {
        "the\ncat\n<eos>\n<unk>\n\xc3\xa9t\xc3\xa9\n", "a\n\\n\n\\\\\n\xe2\x82\xac\n<unk>\r\n",
        "[UNK]\n[CLS]\nword\n##s\n", "b\tSaid \xc3\x84 here\na\tseven\n"};
    if (index >= sizeof examples / sizeof *examples) return false;
    FUZZ_CHECK(hu_write_u8(seed, (uint8_t)index) == HU_OK);
    return fuzz_text_seed(examples[index], seed);
}
