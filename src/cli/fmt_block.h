/* cli/fmt_block.h - block formats as the verb fmt shows them. */
#ifndef HU_CLI_FMT_BLOCK_H
#define HU_CLI_FMT_BLOCK_H
#include "kernel/block/block.h"
#include "show/json.h"

/* Element format, block and scale of a block format, as text on stdout. */
hu_status hu_fmt_block_print(const hu_block_format *block);

/* The same as an object. element: what fmt says of the element format. */
json_t *hu_fmt_block_json(const hu_block_format *block, json_t *element);

/* All block formats, a line each, on stdout. */
hu_status hu_fmt_block_list(void);

#endif
