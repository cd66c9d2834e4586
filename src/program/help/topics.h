/* help/topics.h - what is told of the tables of the library: models, data, formats, ... */
#ifndef HU_MANUAL_TOPICS_H
#define HU_MANUAL_TOPICS_H
#include "render/html.h"

/* One topic of `halfulp help`: its word, what it is about in a line, and who writes it. A topic is
 * a table of the library as text, so that what is added to the library is in the help. */
typedef struct hu_topic {
    const char *name, *help;
    void (*put)(hu_page *page);
} hu_topic;

/* Row of the table in the order of the help; NULL behind the last. Borrowed: for ever. */
const hu_topic *hu_topic_at(size_t index);

#endif
