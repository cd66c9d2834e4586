/* format/table/steps.h - the steps of a table and a rounding mode, made when first asked for. */
#ifndef HU_FORMAT_TABLE_STEPS_H
#define HU_FORMAT_TABLE_STEPS_H
#include "format/table/slots.h"

/* The steps of a mode; made when first asked for. HU_ERR_MEMORY. Borrowed: valid forever. */
hu_status hu_code_steps_of(const hu_format *format, hu_rounding rounding,
                           const hu_code_steps **steps);

#endif
