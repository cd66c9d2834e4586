/* tensor/signs.h - formats without negative numbers. */
#ifndef HU_TENSOR_SIGNS_H
#define HU_TENSOR_SIGNS_H
#include <stdbool.h>

#include "tensor/quantizer.h"

/* Whether no number below 0 stays one: P3109's unsigned formats, files of numbers from 0 on. Proof:
 * tests/program/talk_test.py. */
bool hu_quantizer_is_unsigned(const hu_quantizer *quantizer);

#endif
