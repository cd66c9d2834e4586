/* base/command_line.c - the words of a process, from the system (proc(5), /proc/PID/cmdline). */
#include "base/command_line.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/keys.h"
#include "base/memory.h"

/* More than any system lets a process have (execve(2): 6 MiB at most on Linux). */
enum { WORDS_MOST = 1 << 26 };

/* A shell takes every character of it for itself. */
static bool is_plain(const char *word) {
    for (const char *c = word; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("%+,-./:=@_", *c)) return false;
    return *word != '\0';
}

static hu_status put(hu_byte_writer *out, const char *text) {
    return hu_write_bytes(out, text, strlen(text));
}

/* A quote cannot stand inside of single quotes: 'it'\''s'. */
static hu_status put_quoted(hu_byte_writer *out, const char *word) {
    hu_status st = put(out, "'");
    for (const char *c = word; *c && st == HU_OK; c++)
        st = *c == '\'' ? put(out, "'\\''") : hu_write_u8(out, (uint8_t)*c);
    return st == HU_OK ? put(out, "'") : st;
}

/* $'...': every byte that is no printable character of ASCII by its number. */
static hu_status put_bytes(hu_byte_writer *out, const char *word) {
    char code[8];
    hu_status st = put(out, "$'");
    for (const char *c = word; *c && st == HU_OK; c++) {
        unsigned char byte = (unsigned char)*c;
        bool is_itself = byte >= ' ' && byte < 0x7f && byte != '\'' && byte != '\\';
        snprintf(code, sizeof code, is_itself ? "%c" : "\\x%02x", byte);
        st = put(out, code);
    }
    return st == HU_OK ? put(out, "'") : st;
}

static hu_status put_word(hu_byte_writer *out, const char *word) {
    if (is_plain(word)) return put(out, word);
    if (hu_has_controls(word) || !hu_text_is_utf8(word)) return put_bytes(out, word);
    return put_quoted(out, word);
}

hu_status hu_shell_words(const char *words, size_t bytes, char **text) {
    hu_status st = HU_OK;
    hu_byte_writer out = {0};
    *text = NULL;
    for (size_t at = 0; at < bytes; at += strlen(words + at) + 1) {
        if (at > 0) HU_TRY(put(&out, " "));
        HU_TRY(put_word(&out, words + at));
    }
    HU_TRY(hu_write_u8(&out, 0));
    *text = (char *)out.data;
    out = (hu_byte_writer){0};
done:
    hu_writer_free(&out);
    return st;
}

hu_status hu_command_line(char **text) {
    uint8_t *words = NULL;
    size_t bytes;
    *text = NULL;
    hu_status st = hu_file_read_plain("/proc/self/cmdline", WORDS_MOST, &words, &bytes);
    /* A process can write over its own words; these end with a zero all the same, or are none. */
    if (st == HU_OK && bytes > 0 && words[bytes - 1] == '\0')
        st = hu_shell_words((const char *)words, bytes, text);
    hu_free(words);
    return st == HU_ERR_MEMORY ? st : HU_OK;
}
