/* precision/rule.h - "PATTERN: CHOICE": what rules about tensors and rules about products share. */
#ifndef HU_PRECISION_RULE_H
#define HU_PRECISION_RULE_H
#include <halfulp/status.h>

/* The words of one rule. */
typedef struct hu_rule {
    char *text;    /* as the user wrote it, for messages */
    char *pattern; /* what stands before the first colon, without spaces around it */
} hu_rule;

/* Takes a rule apart; *choice is what stands behind the colon and its spaces, inside of text.
 * HU_ERR_PARSE says that form ("PATTERN: FORMAT") was expected. Owner frees with hu_rule_free. */
hu_status hu_rule_read(const char *text, const char *form, hu_rule *rule, const char **choice);
void hu_rule_free(hu_rule *rule);

#endif
