/* cli/fmt_block.c - what `halfulp fmt` says of block formats. */
#include "cli/fmt_block.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "show/table.h"

/* hu_format_print needs at least 64. */
enum { NAME_BYTES = 80 };

static bool has_tensor_scale(const hu_block_format *block) {
    return hu_block_needs_tensor_scale(block) != 0;
}

/* Both scales have 8 bits: a power of two without sign (OCP MX 1.0), or a number of
 * e4m3fn. */
static const char *scale_name(const hu_block_format *block) {
    return block->scale == HU_BLOCK_SCALE_E8M0 ? "ue8m0" : "e4m3fn";
}

/* Bits of an element with its share of the scale of a full block. */
static double bits_per_element(const hu_block_format *block) {
    return (double)hu_format_bits(&block->element) + 8.0 / block->length;
}

/* The power of two of a block's scale. */
static void print_power(const hu_block_format *block, const hu_format_limits *limits) {
    static const char *const of_largest[] = {
        [HU_BLOCK_FLOOR] = "floor(log2 of the block's largest magnitude)",
        [HU_BLOCK_CEIL] = "ceil(log2 of the block's largest magnitude)",
        [HU_BLOCK_EVEN] = "floor(log2 of the largest magnitude, rounded as an element)"};
    printf("scale         ue8m0: 2^k, k = ");
    if (block->power == HU_BLOCK_RCEIL)
        printf("ceil(log2(the block's largest magnitude / %.9g))", limits->max_finite);
    else
        printf("%s - %d", of_largest[block->power], limits->emax);
    printf(", at least -127%s\n",
           block->power == HU_BLOCK_FLOOR ? "; :scale=ceil, rceil or even: another power" : "");
}

hu_status hu_fmt_block_print(const hu_block_format *block) {
    char element[NAME_BYTES];
    hu_format_limits limits = hu_format_limits_of(&block->element);
    hu_status st = hu_format_print(&block->element, element, sizeof element);
    if (st != HU_OK) return st;
    printf("%s: %s\n\n", block->name, block->description);
    printf("elements      %s: %u bits, 0 and %.9g .. %.9g in units of the scale; saturating\n",
           element, hu_format_bits(&block->element), limits.min_subnormal, limits.max_finite);
    printf("block         %d elements along the last extent, a shorter one at the end of a line\n",
           block->length);
    if (block->scale == HU_BLOCK_SCALE_E8M0)
        print_power(block, &limits);
    else
        printf("scale         e4m3fn: the block's largest magnitude / (%.9g x tensor scale)\n",
               limits.max_finite);
    printf("tensor scale  %s\n",
           has_tensor_scale(block) ? "float32: the tensor's largest magnitude / 2688" : "none");
    printf("storage       %.9g bits an element\n", bits_per_element(block));
    return HU_OK;
}

json_t *hu_fmt_block_json(const hu_block_format *block, json_t *element) {
    bool is_power = block->scale == HU_BLOCK_SCALE_E8M0;
    return json_pack("{s:s, s:s, s:o, s:i, s:s, s:s, s:s, s:o}", "name", block->name, "description",
                     block->description, "element", element, "block_length", block->length, "scale",
                     scale_name(block), "scale_rounding",
                     is_power ? hu_block_power_name(block->power) : "nearest", "tensor_scale",
                     has_tensor_scale(block) ? "float32" : "none", "bits_per_element",
                     hu_json_number(bits_per_element(block)));
}

/* One row of the list: name, element, elements of a block, scale, bits of an element, what it
 * is. */
static hu_status add_row(hu_table *table, const hu_block_format *block) {
    char element[NAME_BYTES];
    hu_status st;
    HU_TRY(hu_format_print(&block->element, element, sizeof element));
    HU_TRY(hu_table_cell(table, "%s", block->name));
    HU_TRY(hu_table_cell(table, "%s", element));
    HU_TRY(hu_table_cell(table, "%d", block->length));
    HU_TRY(hu_table_cell(table, "%s", scale_name(block)));
    HU_TRY(hu_table_cell(table, "%.4g", bits_per_element(block)));
    HU_TRY(hu_table_cell(table, "%s", block->description));
done:
    return st;
}

/* The list follows that of the plain formats, hence the blank line before it. */
hu_status hu_fmt_block_list(void) {
    static const char *const titles[] = {"name", "element", "block", "scale", "bits", "what"};
    hu_table *table;
    char *text = NULL;
    const hu_block_format *block;
    hu_status st = hu_table_create(titles, sizeof titles / sizeof *titles, &table);
    if (st != HU_OK) return st;
    for (size_t i = 0; (block = hu_block_format_at(i)) != NULL; i++) HU_TRY(add_row(table, block));
    HU_TRY(hu_table_print(table, &text));
    printf("\n%s", text);
done:
    hu_free(text);
    hu_table_free(table);
    return st;
}
