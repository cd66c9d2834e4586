#include "data/class_names.h"

#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/keys.h"
#include "base/memory.h"

hu_status hu_class_names_join(const char *const *names, size_t count, char **text) {
    size_t bytes = 0, at = 0;
    for (size_t i = 0; i < count; i++) bytes += strlen(names[i]) + 1;
    hu_status st = HU_NEW_ARRAY(text, bytes);
    if (st != HU_OK) return st;
    for (size_t i = 0; i < count; at += strlen(names[i++]) + 1) strcpy(*text + at, names[i]);
    return HU_OK;
}

/* Lines become names, in place: text has a zero behind its bytes. Returns how many there are before
 * an empty one, or the end. */
static int64_t split(char *text) {
    int64_t count = 0;
    char *to = text;
    for (const char *from = text; *from; count++) {
        size_t length = strcspn(from, "\r\n");
        if (length == 0) break;
        const char *next = from + length;
        next += strspn(next, "\r");
        if (*next == '\n') next++;
        memmove(to, from, length);
        to[length] = '\0';
        to += length + 1;
        from = next;
    }
    return count;
}

/* What JSON and terminals cannot show is refused where it stands: text [count names]. */
static hu_status check_names(const char *path, const char *text, int64_t count) {
    for (int64_t line = 1; line <= count; line++, text += strlen(text) + 1) {
        size_t sound = hu_text_utf8_bytes(text);
        if (text[sound])
            return hu_fail(HU_ERR_CORRUPT, "%s: line %lld, byte %zu: found 0x%02x, expected UTF-8",
                           path, (long long)line, sound + 1, (unsigned char)text[sound]);
    }
    return HU_OK;
}

/* Behind a byte-order mark, which some editors put before the first line. */
static const uint8_t *behind_mark(const uint8_t *data, size_t *bytes) {
    static const uint8_t mark[] = {0xef, 0xbb, 0xbf};
    if (*bytes < sizeof mark || memcmp(data, mark, sizeof mark) != 0) return data;
    *bytes -= sizeof mark;
    return data + sizeof mark;
}

static hu_status read_names(const char *path, int64_t classes, char **text) {
    enum { MOST = 1 << 16 };
    uint8_t *data = NULL;
    void *block = NULL;
    size_t bytes;
    hu_status st;
    HU_TRY(hu_file_read_plain(path, MOST, &data, &bytes));
    const uint8_t *names = behind_mark(data, &bytes);
    HU_TRY(hu_alloc(bytes + 1, &block));
    memcpy(block, names, bytes);
    int64_t count = split(block);
    if (count < classes)
        HU_TRY(hu_fail(HU_ERR_CORRUPT, "%s: found %lld names of classes, expected %lld", path,
                       (long long)count, (long long)classes));
    HU_TRY(check_names(path, block, classes));
    *text = block;
    block = NULL;
done:
    hu_free(block);
    hu_free(data);
    return st;
}

hu_status hu_class_names_read(const char *directory, int64_t classes, char **text) {
    char *path;
    *text = NULL;
    hu_status st = hu_path_join(directory, "classes.txt", &path);
    if (st != HU_OK) return st;
    if (hu_file_exists(path)) st = read_names(path, classes, text);
    hu_free(path);
    return st;
}
