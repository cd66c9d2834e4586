/* render/page.c - text of a page, and its escapes. */
#include "render/page.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/keys.h"
#include "base/memory.h"
#include "base/text.h"

enum { PIECE_BYTES = 2048 };

/* A failure is kept and told by hu_page_finish, so that callers need no check per line. */
static void put_bytes(hu_page *page, const char *text, size_t bytes) {
    if (page->status == HU_OK) page->status = hu_write_bytes(&page->out, text, bytes);
}

void hu_page_put(hu_page *page, const char *format, ...) {
    char piece[PIECE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    if (length >= 0 && length < PIECE_BYTES) {
        put_bytes(page, piece, (size_t)length);
    } else if (page->status == HU_OK) {
        page->status =
            hu_fail(HU_ERR_INTERNAL, "a piece of a page has more than %d bytes", PIECE_BYTES - 1);
    }
}

/* What stands for a byte, NULL for itself. Texts that are not UTF-8 keep their ASCII part. */
static const char *escape_of(unsigned char c, bool is_utf8) {
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return c >= 0x80 && !is_utf8 ? "?" : NULL;
    }
}

/* Text of users: escaped byte by byte, control characters one by one. */
void hu_page_text(hu_page *page, const char *text) {
    bool is_utf8 = hu_text_is_utf8(text);
    const char *start = text; /* of what needs no escape */
    while (*text) {
        size_t bytes = *text == '\n' || *text == '\t' ? 0 : hu_control_bytes(text);
        const char *escape = bytes > 0 ? "?" : escape_of((unsigned char)*text, is_utf8);
        if (escape) {
            put_bytes(page, start, (size_t)(text - start));
            put_bytes(page, escape, strlen(escape));
            start = text + (bytes > 0 ? bytes : 1);
        }
        text += bytes > 0 ? bytes : 1;
    }
    put_bytes(page, start, (size_t)(text - start));
}

hu_status hu_page_finish(hu_page *page, char **text) {
    hu_status st = page->status;
    *text = NULL;
    if (st == HU_OK) st = HU_NEW_ARRAY(text, page->out.size + 1);
    if (st == HU_OK && page->out.size > 0) memcpy(*text, page->out.data, page->out.size);
    hu_page_free(page);
    return st;
}

void hu_page_free(hu_page *page) {
    hu_writer_free(&page->out);
    page->status = HU_OK;
}
