#define _GNU_SOURCE 1 /* fopencookie */
/* show/stdout.c - results of verbs, for people or for programs. */
#include "show/stdout.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "show/json.h"

/* The first failed write; 0: none. */
static int failed;

#ifdef __GLIBC__
/* All the bytes, or 0 and failed. */
static ssize_t write_all(void *unused, const char *data, size_t bytes) {
    (void)unused;
    for (size_t done = 0; done < bytes && !failed;) {
        ssize_t put = write(STDOUT_FILENO, data + done, bytes - done);
        struct pollfd room = {.fd = STDOUT_FILENO, .events = POLLOUT};
        if (put > 0)
            done += (size_t)put;
        else if (put < 0 && errno == EAGAIN)
            poll(&room, 1, -1);
        else if (put == 0 || errno != EINTR)
            failed = put == 0 ? EIO : errno;
    }
    return failed ? 0 : (ssize_t)bytes;
}

void hu_stdout_open(void) {
    FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_all});
    if (!stream) return;
    if (isatty(STDOUT_FILENO)) setvbuf(stream, NULL, _IOLBF, BUFSIZ);
    stdout = stream;
}
#else
void hu_stdout_open(void) {
}
#endif

hu_status hu_stdout_end(void) {
    bool is_whole = fflush(stdout) == 0 && !ferror(stdout);
    if (!is_whole && !failed) failed = errno ? errno : EIO;
    if (!failed) return HU_OK;
    return hu_fail(HU_ERR_IO, "cannot write the result: %s", strerror(failed));
}

hu_status hu_show_table(const hu_table *table) {
    char *text;
    hu_status st = hu_table_print_for(table, hu_colour_wanted(STDOUT_FILENO), &text);
    if (st != HU_OK) return st;
    fputs(text, stdout);
    hu_free(text);
    return HU_OK;
}

hu_status hu_json_print(json_t *object) {
    char *text;
    hu_status st = hu_json_pretty(object, &text);
    if (st == HU_OK && fputs(text, stdout) == EOF)
        st = hu_fail(HU_ERR_IO, "cannot write JSON: %s", strerror(errno));
    hu_free(text);
    return st;
}

hu_status hu_show_text(hu_status made, char *text) {
    if (made == HU_OK && text) fputs(text, stdout);
    hu_free(text);
    return made;
}
