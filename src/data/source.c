/* Data sets whose samples a program makes. */
#include <string.h>

#include <halfulp/data.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/given.h"
#include "base/memory.h"

/* number: place in the caller's list, for the message of a field without a name. */
static hu_status check_field(const hu_field *field, int number) {
    int64_t bytes = sizeof(float);
    if (!field->name[0] || !memchr(field->name, '\0', sizeof field->name))
        return hu_fail(HU_ERR_ARGUMENT, "field %d: found no name, expected 1 to %d characters",
                       number, HU_FIELD_NAME_BYTES - 1);
    if (field->rank < 0 || field->rank > HU_FIELD_RANK_MAX || field->classes < 0)
        return hu_fail(HU_ERR_ARGUMENT, "field '%s': found rank %d and %lld classes", field->name,
                       field->rank, (long long)field->classes);
    for (int i = 0; i < field->rank; i++) {
        if (field->extent[i] < 1)
            return hu_fail(HU_ERR_ARGUMENT, "field '%s': extent %d is %lld, expected at least 1",
                           field->name, i, (long long)field->extent[i]);
        if (!hu_mul_i64(bytes, field->extent[i], &bytes))
            return hu_fail(HU_ERR_ARGUMENT,
                           "field '%s': extents up to number %d, which is %lld, are more numbers "
                           "than can be addressed",
                           field->name, i, (long long)field->extent[i]);
    }
    return HU_OK;
}

/* Tasks find fields by their names. */
static hu_status check_names(const hu_field *fields, int count) {
    for (int f = 1; f < count; f++)
        for (int other = 0; other < f; other++)
            if (strcmp(fields[f].name, fields[other].name) == 0)
                return hu_fail(HU_ERR_ARGUMENT,
                               "fields %d and %d are both called '%s', expected a name for each",
                               other, f, fields[f].name);
    return HU_OK;
}

/* The size tells which version of the header the program was built with. */
static hu_status check_source(const hu_sample_source *source, const char *half) {
    if (source->size != sizeof *source)
        return hu_fail(HU_ERR_ARGUMENT, "%s source: its size is %zu, expected %zu", half,
                       source->size, sizeof *source);
    if (!source->fill || source->samples < 1 || source->samples > UINT32_MAX)
        return hu_fail(HU_ERR_ARGUMENT, "%s source: found %lld samples%s, expected 1 to 2^32-1",
                       half, (long long)source->samples, source->fill ? "" : " and no fill");
    return HU_OK;
}

/* Numbers as they come: neither bytes nor pixels that move. */
static hu_field plain_field(const hu_field *given) {
    hu_field field = {.type = HU_FIELD_F32, .rank = given->rank, .classes = given->classes};
    memcpy(field.name, given->name, sizeof field.name);
    memcpy(field.extent, given->extent, sizeof field.extent);
    return field;
}

hu_status hu_dataset_of_sources(const hu_field *fields, int count, const hu_sample_source *train,
                                const hu_sample_source *test, hu_dataset **dataset) {
    HU_GIVEN(dataset);
    *dataset = NULL;
    HU_GIVEN(fields);
    HU_GIVEN(train);
    HU_GIVEN(test);
    hu_status st = HU_OK;
    void *block = NULL;
    if (count < 1 || count > HU_FIELDS_MAX)
        return hu_fail(HU_ERR_ARGUMENT, "found %d fields, expected 1 to %d", count, HU_FIELDS_MAX);
    for (int f = 0; f < count; f++) HU_TRY(check_field(&fields[f], f));
    HU_TRY(check_names(fields, count));
    HU_TRY(check_source(train, "training"));
    HU_TRY(check_source(test, "test"));
    HU_TRY(hu_alloc(sizeof **dataset, &block));
    hu_dataset *made = block;
    made->field_count = count;
    made->train = (hu_split){.count = train->samples, .source = *train};
    made->test = (hu_split){.count = test->samples, .source = *test};
    for (int f = 0; f < count; f++) made->field[f] = plain_field(&fields[f]);
    HU_TRY(hu_strdup("source", &made->name));
    *dataset = made;
    block = NULL;
done:
    hu_dataset_close(block);
    return st;
}
