/* Files of words: the first byte of an input says which it is, a vocabulary of words, characters or
 * pieces, the transcripts of two sounds, their names where there are none, or a text of which a
 * vocabulary is made. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/speech.h"
#include "data/vocabulary.h"

enum { UNITS = 3, KINDS = UNITS + 3 };
static const hu_text_unit units[UNITS] = {HU_TEXT_WORDS, HU_TEXT_CHARACTERS, HU_TEXT_PIECES};

static void check_failure(hu_status st) {
    FUZZ_CHECK(st == HU_ERR_CORRUPT || st == HU_ERR_LIMIT || fuzz_was_fault(st));
    FUZZ_CHECK(fuzz_was_fault(st) || strstr(hu_last_error(), ".txt") != NULL);
}

/* Every word is found under its number, and no other. */
static void check_words(const hu_vocabulary *words) {
    for (size_t i = 0; i < words->count; i++) {
        const hu_word *word = &words->word[i];
        FUZZ_CHECK(word->length > 0);
        FUZZ_CHECK(hu_vocabulary_find(words, word->at, word->length) == (int64_t)i);
    }
}

/* What is written is read as the same words. */
static void check_written(const char *path, hu_text_unit unit, const hu_vocabulary *words) {
    hu_vocabulary again = {0};
    if (!FUZZ_DONE(hu_vocabulary_of_names(words->text, (int64_t)words->count, &again))) goto done;
    FUZZ_CHECK(again.count == words->count);
    hu_vocabulary_free(&again);
    if (!FUZZ_DONE(hu_vocabulary_write(path, words->text, (int64_t)words->count))) goto done;
    if (!FUZZ_DONE(hu_vocabulary_read(path, unit, &again))) goto done;
    FUZZ_CHECK(again.count == words->count && again.unknown == words->unknown);
    for (size_t i = 0; i < words->count; i++)
        FUZZ_CHECK(strcmp(again.word[i].at, words->word[i].at) == 0);
done:
    hu_vocabulary_free(&again);
}

static void read_vocabulary(hu_text_unit unit, const uint8_t *data, size_t bytes) {
    char path[512];
    hu_vocabulary words = {0};
    fuzz_put(HU_VOCABULARY_FILE, data, bytes);
    snprintf(path, sizeof path, "%s/" HU_VOCABULARY_FILE, fuzz_folder());
    hu_status st = hu_vocabulary_read(path, unit, &words);
    if (st != HU_OK) check_failure(st);
    if (st == HU_OK) {
        check_words(&words);
        check_written(path, unit, &words);
    }
    hu_vocabulary_free(&words);
}

/* Those of a text: all of them, and the frequent ones after two others. */
static void count_words(const uint8_t *data, size_t bytes) {
    static const char *const front[] = {"<a>", "the"};
    char *text = fuzz_text(data, bytes);
    hu_tokens tokens = {"a.txt", text, bytes, HU_TEXT_WORDS, INT64_MAX, 0, false};
    hu_vocabulary words = {0};
    if (bytes % 2) tokens.unit = HU_TEXT_CHARACTERS;
    hu_status st = hu_tokens_check(&tokens);
    if (st != HU_OK) check_failure(st);
    if (st == HU_OK &&
        FUZZ_DONE(hu_vocabulary_of_text(&tokens, 1 + (int64_t)(bytes % 3), &words))) {
        check_words(&words);
        if (FUZZ_DONE(hu_vocabulary_add(&words, front, 2))) check_words(&words);
    }
    hu_vocabulary_free(&words);
    if (st == HU_OK && FUZZ_DONE(hu_vocabulary_behind(&tokens, 2, front, 2, &words))) {
        check_words(&words);
        FUZZ_CHECK(hu_vocabulary_find(&words, "the", 3) == 1);
    }
    if (st == HU_OK) hu_vocabulary_free(&words);
    free(text);
}

/* The lists of names are what the folder would hold. */
static void read_transcripts(const uint8_t *data, size_t bytes) {
    static char a[] = "a.wav", b[] = "b.wav";
    char *names[] = {a, b};
    const hu_file_names sounds = {.name = names, .count = 2};
    hu_transcripts said = {0};
    fuzz_put("transcripts.txt", data, bytes);
    hu_status st = hu_transcripts_read(fuzz_folder(), &sounds, false, &said);
    if (st != HU_OK) check_failure(st);
    for (size_t i = 0; st == HU_OK && i < sounds.count; i++) {
        FUZZ_CHECK(said.text[i] != NULL);
        for (const char *c = said.text[i]; *c; c++) FUZZ_CHECK(*c < 'A' || *c > 'Z');
    }
    hu_transcripts_free(&said);
}

/* Without a file the names say it, or nothing does. */
static void read_names(const uint8_t *data, size_t bytes) {
    char first[] = "0_a_1.wav", second[] = "1_b_2.wav", *names[] = {first, second};
    const hu_file_names sounds = {.name = names, .count = 2};
    hu_transcripts said = {0};
    if (bytes > 0 && data[0]) first[0] = (char)data[0];
    if (bytes > 1 && data[1]) second[1] = (char)data[1];
    bool may_lack = bytes > 2;
    hu_status st = hu_transcripts_read("/proc/no/folder", &sounds, may_lack, &said);
    if (st != HU_OK) check_failure(st);
    for (size_t i = 0; st == HU_OK && !may_lack && i < sounds.count; i++)
        FUZZ_CHECK(said.text[i] != NULL);
    hu_transcripts_free(&said);
}

void fuzz_one(const uint8_t *data, size_t size) {
    fuzz_cursor cursor = {data, size, 0};
    int kind = fuzz_u8(&cursor) % KINDS;
    size_t bytes = size;
    const uint8_t *file = fuzz_take(&cursor, &bytes);
    if (kind < UNITS)
        read_vocabulary(units[kind], file, bytes);
    else if (kind == UNITS)
        read_transcripts(file, bytes);
    else if (kind == UNITS + 1)
        read_names(file, bytes);
    else
        count_words(file, bytes);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const char *const examples[] = {"the\ncat\n<eos>\n<unk>\n\xc3\xa9t\xc3\xa9\n",
                                           "a\n\\n\n\\\\\n\xe2\x82\xac\n<unk>\r\n",
                                           "[UNK]\n[CLS]\nword\n##s\n",
                                           "b\tSaid \xc3\x84 here\na\tseven\n",
                                           "7_",
                                           "the cat\nthe dog the <unk> \xc3\xa9 a a\n",
                                           "\xef\xbb\xbf\xef\xbb\xbf\nb\n"};
    if (index >= sizeof examples / sizeof *examples) return false;
    FUZZ_CHECK(hu_write_u8(seed, (uint8_t)(index < KINDS ? index : 1)) == HU_OK);
    return fuzz_text_seed(examples[index], seed);
}
