#include "precision/rule.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

hu_status hu_rule_read(const char *text, const char *form, hu_rule *rule, const char **choice) {
    hu_status st = HU_OK;
    *rule = (hu_rule){0};
    text += strspn(text, " ");
    /* Formats have colons of their own ("e4m3:ovf=sat"), patterns have none: the first one parts.
     */
    const char *colon = strchr(text, ':');
    if (!colon || colon == text)
        return hu_fail(HU_ERR_PARSE, "rule '%s': expected '%s'", text, form);
    size_t length = (size_t)(colon - text);
    while (text[length - 1] == ' ') length--;
    *choice = colon + 1 + strspn(colon + 1, " ");
    HU_TRY(hu_strdup(text, &rule->text));
    HU_TRY(hu_strndup(text, length, &rule->pattern));
done:
    if (st != HU_OK) hu_rule_free(rule);
    return st;
}

void hu_rule_free(hu_rule *rule) {
    hu_free(rule->text);
    hu_free(rule->pattern);
    *rule = (hu_rule){0};
}
