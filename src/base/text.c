#include "base/text.h"

#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

size_t hu_text_mark_bytes(const char *text, size_t bytes) {
    static const char mark[] = "\xef\xbb\xbf";
    size_t length = strlen(mark);
    return bytes >= length && memcmp(text, mark, length) == 0 ? length : 0;
}

hu_status hu_text_write_mark(hu_byte_writer *out, const char *text) {
    return hu_write_bytes(out, text, hu_text_mark_bytes(text, strlen(text)));
}

/* Either order of bytes. */
static hu_status check(const char *path, const char *text, size_t bytes) {
    const char *zero = bytes > 0 ? memchr(text, '\0', bytes) : NULL;
    if (bytes >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0))
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: found UTF-16, expected UTF-8; `iconv -f UTF-16 -t UTF-8` makes it that",
                       path);
    if (!zero) return HU_OK;
    return hu_fail(HU_ERR_CORRUPT, "%s: offset %zu: found a zero byte, expected text", path,
                   (size_t)(zero - text));
}

hu_status hu_text_read(const char *path, size_t limit_bytes, char **text, size_t *bytes) {
    uint8_t *data = NULL;
    hu_status st;
    *text = NULL;
    HU_TRY(hu_file_read_plain(path, limit_bytes, &data, bytes));
    HU_TRY(check(path, (const char *)data, *bytes));
    size_t mark = hu_text_mark_bytes((const char *)data, *bytes);
    *bytes -= mark;
    st = hu_strndup((const char *)data + mark, *bytes, text);
done:
    hu_free(data);
    return st;
}
