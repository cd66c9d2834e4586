#include <string.h>

#include "op/op.h"

#define HU_OP_ADDRESS(identifier) &hu_op_##identifier,
const hu_op *const hu_op_table[] = {HU_OP_LIST(HU_OP_ADDRESS)};
#undef HU_OP_ADDRESS

const int hu_op_count = (int)(sizeof hu_op_table / sizeof hu_op_table[0]);

const hu_op *hu_op_find(const char *name) {
    for (int i = 0; i < hu_op_count; i++)
        if (strcmp(hu_op_table[i]->name, name) == 0) return hu_op_table[i];
    return NULL;
}
