/* show/picture.h - charts as one SVG file of its own, below one another: the same calls that draw
 * them into an HTML page. Colours are fixed ones, those of a light page: papers and other programs
 * take such a file. */
#ifndef HU_SHOW_PICTURE_H
#define HU_SHOW_PICTURE_H
#include "show/page.h"

/* What follows is drawn for a picture. page: as {0}. */
void hu_picture_begin(hu_page *page);

/* Width and height in pixels of what is drawn so far, with its margins. */
void hu_picture_extents(const hu_page *page, double *width, double *height);

/* The whole file, or the first failure; frees the page. label: what it shows, for those who cannot
 * see it. Owner frees *text with hu_free. */
hu_status hu_picture_finish(hu_page *page, const char *label, char **text);

#endif
