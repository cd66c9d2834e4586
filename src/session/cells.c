#include "session/cells.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"

/* Without the final zero. */
static hu_status write_text(hu_byte_writer *out, const char *text) {
    return hu_write_bytes(out, text, strlen(text));
}

/* Titles: "sample,label,predicted". */
static hu_status write_titles(hu_byte_writer *out, const hu_task *task) {
    char cell[64];
    hu_status st = write_text(out, "sample");
    for (int c = 0; st == HU_OK && task->column[c].title; c++) {
        snprintf(cell, sizeof cell, ",%s", task->column[c].title);
        st = write_text(out, cell);
    }
    return st == HU_OK ? write_text(out, "\n") : st;
}

hu_status hu_cells_write(const char *path, const hu_task *task, int64_t count,
                         const double *cells) {
    int columns = hu_task_column_count(task);
    hu_byte_writer out = {0};
    char cell[64];
    hu_status st;
    HU_TRY(write_titles(&out, task));
    for (int64_t i = 0; i < count; i++) {
        snprintf(cell, sizeof cell, "%lld", (long long)i);
        HU_TRY(write_text(&out, cell));
        for (int c = 0; c < columns; c++) {
            snprintf(cell, sizeof cell, ",%.9g", cells[i * columns + c]);
            HU_TRY(write_text(&out, cell));
        }
        HU_TRY(write_text(&out, "\n"));
    }
    HU_TRY(hu_file_replace(path, out.data, out.size));
done:
    hu_writer_free(&out);
    return st;
}
