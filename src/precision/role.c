#include "precision/role.h"

#include <stddef.h>

const char *const hu_role_names[HU_ROLE_COUNT] = {"act", "act.grad", "weight", "weight.grad"};

const hu_role_key hu_role_keys[HU_ROLE_COUNT] = {{"w=", HU_ROLE_WEIGHT},
                                                 {"act=", HU_ROLE_ACT},
                                                 {"grad=", HU_ROLE_ACT_GRAD},
                                                 {"wgrad=", HU_ROLE_WEIGHT_GRAD}};

/* Linear in practice: only the last star is ever taken up again. */
bool hu_glob_match(const char *pattern, const char *name) {
    const char *star = NULL, *resume = NULL;
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            resume = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == '\0';
}
