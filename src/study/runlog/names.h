/* runlog/names.h - a list of different texts, each known by its number. */
#ifndef HU_JOURNAL_NAMES_H
#define HU_JOURNAL_NAMES_H
#include <stdint.h>

#include <halfulp/status.h>

#define HU_NAMES_NONE UINT32_MAX

/* A list of different texts in the order in which they were met; all zero at first. A hash table
 * finds them: a file may bring as many names as it likes. */
typedef struct hu_names {
    char **name; /* [count] */
    uint32_t count, capacity;
    uint32_t *slot; /* [slots] 1 + number, 0: free; slots is a power of two, or 0 */
    uint32_t slots;
} hu_names;

/* Number of a name in a list, HU_NAMES_NONE if it is missing. */
uint32_t hu_names_find(const hu_names *names, const char *name);

/* Number of a name, which is put into the list if it is new. hint: where it may stand. HU_ERR_LIMIT
 * beyond 2^30 names, HU_ERR_MEMORY; the list is then as before. */
hu_status hu_names_intern(hu_names *names, const char *name, uint32_t hint, uint32_t *number);

/* Puts the list into the order of the bytes; numbers change. */
void hu_names_sort(hu_names *names);

/* Frees the texts; the struct itself is the caller's. */
void hu_names_free(hu_names *names);

#endif
