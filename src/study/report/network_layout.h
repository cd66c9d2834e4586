/* report/network_layout.h - places for boxes that lines join, row by row from top to bottom: lines
 * cross little and go straight where they can. */
#ifndef HU_REPORT_NETWORK_LAYOUT_H
#define HU_REPORT_NETWORK_LAYOUT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

typedef struct hu_layout_box {
    double width;  /* pixels, with the room around it */
    uint32_t row;  /* of hu_layout_place, from 0: */
    double middle; /* and where its middle is, at least width / 2 */
    bool is_bend;  /* no box: where a line passes a row */
} hu_layout_box;

typedef struct hu_layout_line {
    uint32_t from, to;
    bool is_main; /* of hu_layout_place: it is straight where it can be */
} hu_layout_line;

/* Starts as {0}; owner frees with hu_layout_free. */
typedef struct hu_layout {
    hu_layout_box *box; /* [boxes] */
    size_t boxes, box_capacity;
    hu_layout_line *line; /* [lines] */
    size_t lines, line_capacity;
    uint32_t rows;
    double width; /* of all */
} hu_layout;

/* Boxes are numbered in the order in which they are added. A line leads from a box to one that was
 * added after it; a line that is there already is not added again. HU_ERR_MEMORY. */
hu_status hu_layout_add_box(hu_layout *layout, double width);
hu_status hu_layout_add_line(hu_layout *layout, uint32_t from, uint32_t to);

/* Gives every box its row, below those that lead to it, and its place. Lines over several rows
 * become bends behind the boxes, shared by all lines from one box, and lines that join neighbouring
 * rows. HU_ERR_LIMIT: more than 200,000 boxes and bends; HU_ERR_MEMORY.
 * Proof: tests/unit/report_network_layout_test.c. */
hu_status hu_layout_place(hu_layout *layout);

void hu_layout_free(hu_layout *layout);

#endif
