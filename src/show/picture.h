/* show/picture.h - charts as one SVG file of its own, below one another: the same calls that draw
 * them into an HTML page. Colours follow the reader's light or dark scheme there too. */
#ifndef HU_SHOW_PICTURE_H
#define HU_SHOW_PICTURE_H
#include "show/page.h"

/* What follows is drawn for a picture. page: as {0}. */
void hu_picture_begin(hu_page *page);

/* The whole file, or the first failure; frees the page. label: what it shows, for those who cannot
 * see it. Owner frees *text with hu_free. */
hu_status hu_picture_finish(hu_page *page, const char *label, char **text);

#endif
