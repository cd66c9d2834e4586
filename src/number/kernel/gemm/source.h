/* kernel/gemm/source.h - a factor of a product: what source.h reads panel by panel.
 * Thread-safe: a prepared hu_source is read only.
 */
#ifndef HU_KERNEL_GEMM_SOURCE_H
#define HU_KERNEL_GEMM_SOURCE_H
#include <halfulp/gemm.h>

#include "kernel/gemm/pack.h"
#include "kernel/gemm/prove.h"
#include "kernel/round/round.h"

enum { HU_SOURCE_RUN_MAX = 512 }; /* terms of a panel that is packed in one go */

/* A factor of rows x terms, ready to be packed on one instruction set. */
typedef struct hu_source {
    hu_operand operand;
    hu_patches patches; /* operand.patches points here, if anywhere */
    int64_t rows, terms;
    bool is_rounded; /* numbers are rounded: in the panel, or patches before, image by image */
    hu_rounder rounder;
    const hu_pack_set *pack;
    bool has_facts; /* of all numbers of all panels */
    hu_panel_facts facts;
} hu_source;

/* operand: checked, of rows x terms. A source is not copied. */
hu_status hu_source_init(const hu_operand *operand, int64_t rows, int64_t terms, hu_isa isa,
                         hu_source *source);

/* Floats of the rounded images that patches with a format read; 0 for all other operands. */
size_t hu_source_image_floats(const hu_operand *operand);

/* Rounds part `part` of `parts` of the images into images[hu_source_image_floats()]; once all
 * parts are done, hu_source_use_images() lets the source read them. */
void hu_source_round_images(const hu_source *source, float *images, int part, int parts,
                            hu_round_counts *counts);
void hu_source_use_images(hu_source *source, const float *images);

/* Adds part `part` of `parts` of the images that patches read to seen: a small part of the work of
 * measuring all panels. hu_source_use_facts() takes what all parts have seen for the facts of every
 * panel, unless some number is not finite. */
void hu_source_measure_images(const hu_source *source, int part, int parts, hu_pack_facts *seen);
void hu_source_use_facts(hu_source *source, const hu_pack_facts *seen);

/* Whether rows lie side by side in every term: then panels are packed many at a time. */
bool hu_source_is_side_by_side(const hu_operand *operand);

/* Asks the caches for elements (first .. first+width-1, k .. k+run-1) where they lie far from each
 * other and packing would wait for them. */
void hu_source_fetch(const hu_source *source, int64_t first, int64_t width, int64_t k, int64_t run);

/* ---- source pack ---- */

/* Panels of a factor: strided matrices or patches, rounded on the way.
 * Thread-safe: the source is read only.
 */

/* `panels` panels as of hu_source_pack, one after the other from row `first` on, `step` floats from
 * one to the next: where rows lie side by side, each term of all panels is read at once. */
void hu_source_pack_side(const hu_source *source, int64_t first, int width, int64_t panels,
                         int64_t k, int64_t run, int64_t step, float *panel,
                         hu_round_counts *counts);

#endif
