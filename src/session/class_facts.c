#include "session/class_facts.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "journal/result.h"
#include "show/table.h"

enum { NAME_BYTES = 24 };

/* The name of a class, or its number. */
static const char *name_of(const hu_dataset *dataset, int64_t c, char number[NAME_BYTES]) {
    const char *name = hu_dataset_class_name(dataset, c);
    snprintf(number, NAME_BYTES, "%lld", (long long)c);
    return name ? name : number;
}

/* Classes with a value of the first metric that has some. */
static int64_t known(const hu_trainer *trainer, hu_half half) {
    const hu_task *task = hu_trainer_task(trainer);
    int64_t classes = hu_trainer_classes(trainer), count = 0;
    int m = 0;
    while (classes > 0 && !task->metric[m]->of_class) m++;
    for (int64_t c = 0; c < classes; c++)
        count += !isnan(hu_trainer_class_metric(trainer, half, m)[c]);
    return count;
}

/* The class with all its metrics; NULL if out of memory. New reference. */
static json_t *class_json(const hu_trainer *trainer, const hu_dataset *dataset, hu_half half,
                          int64_t c) {
    const hu_task *task = hu_trainer_task(trainer);
    char number[NAME_BYTES];
    json_t *object = json_pack("{s:s}", "name", name_of(dataset, c, number));
    bool is_whole = object != NULL;
    for (int m = 0; is_whole && task->metric[m]; m++) {
        const double *value = hu_trainer_class_metric(trainer, half, m);
        if (value)
            is_whole = json_object_set_new(object, task->metric[m]->class_name,
                                           hu_json_number(value[c])) == 0;
    }
    if (is_whole) return object;
    json_decref(object);
    return NULL;
}

/* A class that is left out would give its number to the next one. */
hu_status hu_class_facts_put(json_t *object, const hu_trainer *trainer, const hu_dataset *dataset,
                             hu_half half) {
    if (!object || known(trainer, half) == 0) return HU_OK;
    json_t *list = json_array();
    bool is_whole = list != NULL;
    for (int64_t c = 0; is_whole && c < hu_trainer_classes(trainer); c++)
        is_whole = json_array_append_new(list, class_json(trainer, dataset, half, c)) == 0;
    if (is_whole)
        is_whole = json_object_set(
                       object, half == HU_HALF_VALIDATION ? "validation_classes" : "test_classes",
                       list) == 0;
    json_decref(list);
    return is_whole ? HU_OK : hu_fail(HU_ERR_MEMORY, "out of memory for the list of classes");
}

/* Titles: the metrics of the task that have a value for each class. */
static hu_status open_table(const hu_task *task, hu_table **table) {
    const char *titles[1 + HU_METRICS_MAX] = {"class"};
    int columns = 1;
    for (int m = 0; task->metric[m]; m++)
        if (task->metric[m]->of_class) titles[columns++] = task->metric[m]->class_heading;
    return hu_table_create(titles, columns, table);
}

static hu_status put_row(hu_table *table, const hu_trainer *trainer, const hu_dataset *dataset,
                         hu_half half, int64_t c) {
    const hu_task *task = hu_trainer_task(trainer);
    char number[NAME_BYTES], text[HU_METRIC_TEXT_BYTES];
    hu_status st = hu_table_cell(table, "%s", name_of(dataset, c, number));
    for (int m = 0; st == HU_OK && task->metric[m]; m++) {
        const double *value = hu_trainer_class_metric(trainer, half, m);
        if (value) st = hu_table_cell(table, "%s", hu_metric_text(task->metric[m], value[c], text));
    }
    return st;
}

hu_status hu_class_facts_text(const hu_trainer *trainer, const hu_dataset *dataset, hu_half half,
                              char **text) {
    hu_status st = HU_OK;
    hu_table *table = NULL;
    *text = NULL;
    if (known(trainer, half) == 0) return HU_OK;
    HU_TRY(open_table(hu_trainer_task(trainer), &table));
    for (int64_t c = 0; c < hu_trainer_classes(trainer); c++)
        HU_TRY(put_row(table, trainer, dataset, half, c));
    st = hu_table_print(table, text);
done:
    hu_table_free(table);
    return st;
}
