/* session/held_images.h - the images that a run drew to test with, known again in a folder that
 * another path names. */
#ifndef HU_SESSION_HELD_IMAGES_H
#define HU_SESSION_HELD_IMAGES_H
#include "config/config.h"
#include "session/listener.h"

/* Writes RUN/held-out.txt (data/image_list.h) where the data drew their test images. HU_ERR_IO,
 * HU_ERR_MEMORY. */
hu_status hu_held_images_write(hu_config *config, const hu_dataset *dataset, const char *directory);

/* What other data= than the run's means for a folder without a test half. Where data.validation is
 * typed now, that is drawn. Where the run's share draws the very images that the run held out, the
 * folder is the run's own: *has_other_data becomes false, and the listener is told. Else
 * data.validation becomes 0: all images are judged, *takes_all. Anything else is left alone. */
hu_status hu_held_images_other(hu_config *config, const char *directory,
                               const hu_listener *listener, bool *has_other_data, bool *takes_all);

/* Which of the images of another folder are judged: all of them, or the share that was typed. */
void hu_held_images_tell(const hu_dataset *dataset, bool takes_all, const hu_listener *listener);

#endif
