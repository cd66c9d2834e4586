/* base/text.h - texts: control characters made harmless, words quoted, nearest names, notes,
 * decimals, lists of words, tables of named choices. */
#ifndef HU_BASE_TEXT_H
#define HU_BASE_TEXT_H
#include <halfulp/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- Foreign text made harmless for a terminal ---- */

/* Bytes of the control character at the beginning of a text, 0 where another one stands: below
 * 0x20, 0x7f, U+0080..U+009F as UTF-8 has them (ECMA-48, 5.3), of which terminals take sequences as
 * commands; and those that turn the direction of text (U+202E and its kin), by which a name is
 * shown as another one. The final zero counts as one: ask for none after it. */
size_t hu_control_bytes(const char *text);

/* Copies text with every control character as "\xHH" in hexadecimal digits, one for each byte.
 * Everything else stays, backslashes too, so that an escaped text is its own escape. A
 * text that does not fit is cut at a whole character or escape. to: capacity bytes, not text.
 * Thread-safe. Proof: tests/unit/base_escape_test.c. */
void hu_escape(const char *text, char *to, size_t capacity);

/* Whether text holds a character that hu_escape would write otherwise. */
bool hu_has_controls(const char *text);

/* ---- quote ---- */

/* Names of files in commands that a message proposes: who copies them runs no other
 * command. */

/* The word of a shell that means text: itself where nothing in it is special, else in single
 * quotes. false, and "" in to: it does not fit into capacity bytes. to: not text. */
bool hu_quote_shell(const char *text, char *to, size_t capacity);

/* The same of a string of Python, always in single quotes. */
bool hu_quote_python(const char *text, char *to, size_t capacity);

/* ---- nearest ---- */

/* The known names that a mistyped word most resembles, for error messages. */

/* Writes the three names nearest to word (fewer if there are fewer names), as "'fp16', 'bf16' or
 * 'tf32'"; "" if count is 0. Nearest = fewest insertions, deletions, replacements and swaps of
 * neighbours, case ignored; of equals the earlier name first. Only the first 63 characters of a
 * word count.
 *   names      [count] strings; NULL entries are skipped
 *   text       capacity bytes; a text that does not fit is cut short */
void hu_nearest(const char *word, const char *const *names, size_t count, char *text,
                size_t capacity);

/* The same of a table of at most 256 rows, `stride` bytes each, that begin with their name. */
void hu_nearest_row(const char *word, const void *rows, size_t count, size_t stride, char *text,
                    size_t capacity);

/* ---- note ---- */

/* Short texts to which one thing after the other is added: warnings that a caller
 * shows later. */

/* Adds a text (printf form) to note [capacity], after the separator if something stands there;
 * what does not fit is cut off. */
void hu_note_add(char *note, size_t capacity, const char *separator, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- decimal ---- */

/* Numbers as text: doubles as decimals that are no longer than they need to be,
 * and texts as numbers of which nothing is lost. */

enum { HU_DECIMAL_BYTES = 32 };

/* The decimal of the fewest digits that is read back as the same double: "0.1", "1e22", "65536".
 * Of a few powers of two, whose neighbour below is the nearer one, it has a digit more, 17. value
 * is finite; the locale has a decimal point. text: room for HU_DECIMAL_BYTES. Gives text. Any
 * decimal of 15 digits or fewer stands for itself (IEEE 754-2019, 5.12.2), so that %.15g is the
 * shortest if it reads back; not so below the normal numbers. Proof:
 * tests/unit/base_decimal_test.c. */
const char *hu_decimal_text(double value, char *text);

/* Six digits, or "2^20" of a power of two that has more: what a loss is multiplied with. text: room
 * for HU_DECIMAL_BYTES. Gives text. Proof: tests/unit/base_decimal_test.c. */
const char *hu_scale_text(double value, char *text);

/* A finite number: |x| = significand 2^(exponent - 63). The significand has its top bit, or is 0.
 * What lies below its last bit made that bit 1 (round to odd), so that rounding it to 62 bits or
 * fewer, in any mode, is rounding x itself once. Source: Boldo, Melquiond, "Emulation of FMA and
 * correctly rounded sums", 2008. */
typedef struct hu_wide {
    bool is_negative;
    int exponent; /* -HU_WIDE_EXPONENT..HU_WIDE_EXPONENT */
    uint64_t significand;
} hu_wide;

/* Numbers beyond 2^+-HU_WIDE_EXPONENT are taken for these powers: every format ends long before. */
enum { HU_WIDE_EXPONENT = 4096 };

/* The whole text as a finite number: decimal or hexadecimal, as C writes it, with a point in every
 * locale ("-1.5e-3", "0x1.8p-4"). False if it is none. Proof: tests/unit/base_decimal_test.c. */
bool hu_wide_read(const char *text, hu_wide *number);

/* Whether a text is a number but for the comma where its point should be ("0,2"); then point
 * [HU_DECIMAL_BYTES] is it with a point, for messages. False for texts that do not fit there. */
bool hu_decimal_has_comma(const char *text, char *point);

/* ---- Lists of words as users write them ---- */

/* Characters up to the next comma outside parentheses, or to the end: "fp(4,3,4), e5m2" has 9. */
static inline size_t hu_list_word_length(const char *text) {
    size_t length = 0;
    int depth = 0;
    for (; text[length] && (depth > 0 || text[length] != ','); length++)
        depth += (text[length] == '(') - (text[length] == ')');
    return length;
}

/* Length without blanks of the word at *text, which moves to its first character; *end is what is
 * after it, a comma or the end. */
static inline size_t hu_list_word_at(const char **text, const char **end) {
    *text += strspn(*text, " ");
    size_t length = hu_list_word_length(*text);
    *end = *text + length;
    while (length > 0 && (*text)[length - 1] == ' ') length--;
    return length;
}

/* ---- A named choice out of a const table: one row drives parsing, help and errors ---- */

/* One row; its index in the table is the value of the kind's enum. */
typedef struct hu_kind {
    const char *name;
    const char *summary; /* one line for the help text */
} hu_kind;

/* The index of name in kinds[count]. HU_ERR_UNKNOWN names the nearest three; what ("optimizer")
 * stands in front of the message. */
hu_status hu_registry_parse(const char *what, const hu_kind *kinds, size_t count, const char *name,
                            size_t *index);

/* HU_ERR_ARGUMENT with "key: found value, expected text" unless low <= value < high (a NaN is
 * outside). The bounds are the rule, expected says it in words. */
hu_status hu_require_range(const char *key, double value, double low, double high,
                           const char *expected);

#endif
