/* data/image_room.h - what a thread that reads images keeps from one to the next. */
#ifndef HU_DATA_IMAGE_ROOM_H
#define HU_DATA_IMAGE_ROOM_H
#include "data/image.h"

/* All zero at first; freed by hu_image_room_free. */
typedef struct hu_image_room {
    hu_room path, file; /* the last file's */
    hu_image image;     /* the last one, or empty */
    hu_image_resizer resizer;
} hu_image_room;

/* Gives up what a large picture left: where reading takes milliseconds, memory costs nothing. The
 * image is then empty. */
void hu_image_room_trim(hu_image_room *room);
void hu_image_room_free(hu_image_room *room);

#endif
