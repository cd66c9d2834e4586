#include "report/plan_memory.h"

#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "show/table.h"

json_t *hu_plan_memory_json(const json_t *packed, const json_t *plain, const char *storage) {
    json_t *roles = json_object();
    const char *role;
    json_t *bytes;
    json_object_foreach((json_t *)packed, role, bytes) json_object_set_new(
        roles, role,
        json_pack("{s:O, s:O}", storage, bytes, "float32", json_object_get(plain, role)));
    return roles;
}

/* As MiB. Sizes are far below 2^53, so that doubles hold them exactly. */
static double mebibytes(const json_t *ledger, const char *role) {
    return (double)json_integer_value(json_object_get(ledger, role)) / 1048576.0;
}

/* Bytes of a role in both storages, and their ratio where the second is more than 0.00. */
static hu_status put_row(hu_table *table, const json_t *packed, const json_t *plain,
                         const char *role) {
    const double shown = 0.005;
    hu_status st = HU_OK;
    double one = mebibytes(packed, role), two = mebibytes(plain, role);
    HU_TRY(hu_table_cell(table, "%s", role));
    HU_TRY(hu_table_cell(table, "%.2f", one));
    HU_TRY(hu_table_cell(table, "%.2f", two));
    if (two >= shown)
        HU_TRY(hu_table_cell(table, "%.3f", one / two));
    else
        HU_TRY(hu_table_cell(table, "-"));
done:
    return st;
}

/* A product reads float32: a chunk has at least one sample, so large pictures need much of it. */
static void explain(const json_t *packed, const json_t *plain) {
    if (mebibytes(packed, "total") <= mebibytes(plain, "total") &&
        mebibytes(packed, "scratch") <= 2 * mebibytes(plain, "scratch"))
        return;
    puts("scratch: every thread unpacks what it reads of a chunk, and packs what it makes, in room "
         "of its own; float32 storage\nis read where it lies. Fewer threads=, a smaller run.chunk= "
         "(another result) or storage=float32 (the same one) need less.");
}

hu_status hu_plan_memory_print(json_t *packed, const json_t *plain, const char *storage) {
    const char *const titles[] = {"memory in MiB", storage, "float32", "ratio"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    char *text = NULL;
    const char *role;
    json_t *bytes;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    json_object_foreach(packed, role, bytes) HU_TRY(put_row(table, packed, plain, role));
    HU_TRY(hu_table_print(table, &text));
    printf("\n%sarena: the roles above it where it is fullest; saved: what waits for the backward "
           "pass\n",
           text);
    explain(packed, plain);
done:
    hu_free(text);
    hu_table_free(table);
    return st;
}
