/* precision/role.h - what a tensor is for, as far as formats care. */
#ifndef HU_PRECISION_ROLE_H
#define HU_PRECISION_ROLE_H
#include <stdbool.h>

typedef enum hu_role {
    HU_ROLE_ACT,
    HU_ROLE_ACT_GRAD,
    HU_ROLE_WEIGHT,
    HU_ROLE_WEIGHT_GRAD,
    HU_ROLE_COUNT
} hu_role;

/* How lists of formats by role begin each entry: "w=F,act=F,grad=F,wgrad=F", in that order. */
typedef struct hu_role_key {
    const char *key;
    hu_role role;
} hu_role_key;

extern const hu_role_key hu_role_keys[HU_ROLE_COUNT];

/* "act", "act.grad", "weight", "weight.grad": how rules call them. */
extern const char *const hu_role_names[HU_ROLE_COUNT];

/* True if name matches the glob pattern (* any run, ? any one character). */
bool hu_glob_match(const char *pattern, const char *name);

#endif
