/* base/descriptors.h - the three files that every process is given. */
#ifndef HU_BASE_DESCRIPTORS_H
#define HU_BASE_DESCRIPTORS_H

/* Opens /dev/null for those of descriptors 0, 1 and 2 that are closed, so that no file of ours gets
 * their number, into which libraries print. As on a closed descriptor, reading from such a 0 and
 * writing to such a 1 or 2 fail. Before any other file is opened. */
void hu_descriptors_fill(void);

#endif
