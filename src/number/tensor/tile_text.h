/* tensor/tile_text.h - the words of a quantizer's text that make a block format: tiles, their
 * scales, and what is done before and after. */
#ifndef HU_TENSOR_TILE_TEXT_H
#define HU_TENSOR_TILE_TEXT_H
#include "kernel/block/block.h"

enum { HU_TILE_VALUE_BYTES = 64 };

/* The words, each at most once. */
typedef enum hu_tile_word {
    HU_WORD_TILE,
    HU_WORD_SCALE,
    HU_WORD_FACTOR,
    HU_WORD_AS,
    HU_WORD_LEAST,
    HU_WORD_FOUR,
    HU_WORD_EDEN,
    HU_WORD_HADAMARD,
    HU_WORD_RANDOM,
    HU_WORD_PLAIN,
    HU_WORD_COUNT
} hu_tile_word;

/* What a text says of them: lower case, "" where it has no value. */
typedef struct hu_tile_words {
    bool has[HU_WORD_COUNT];
    int column[HU_WORD_COUNT]; /* of the value, or of the word where it has none; from 1 */
    char value[HU_WORD_COUNT][HU_TILE_VALUE_BYTES];
} hu_tile_words;

/* Moves the words out of format, which is a copy of text up to its mode. HU_ERR_PARSE: a word that
 * is given twice, or a value that is too long. */
hu_status hu_tile_words_cut(const char *text, char *format, hu_tile_words *words);

/* True if the words are those of a block format; scale= alone is not. */
bool hu_tile_words_make_blocks(const hu_tile_words *words);

/* The block format of a text: `format` is what the words were moved out of, base the named block
 * format that it is, or NULL: then the element's format, which is given. Errors as
 * hu_quantizer_parse. */
hu_status hu_tile_words_read(const char *text, const char *format, const hu_tile_words *words,
                             const hu_block_format *base, const hu_format *element,
                             hu_block_format *block);

/* Writes the shortest text that reads back as the block format. */
void hu_block_format_print(const hu_block_format *block, char *text, uint32_t capacity);

#endif
