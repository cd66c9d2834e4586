/* task/translate.h - the fields of the task translate, for those who let a model write by itself.
 */
#ifndef HU_TASK_TRANSLATE_H
#define HU_TASK_TRANSLATE_H

/* In the order of the task: a sentence, its translation from <bos> on, the word behind each of
 * these, and how many of both are there. */
typedef enum hu_translation_field {
    HU_TRANSLATION_SOURCE,
    HU_TRANSLATION_TOKENS,
    HU_TRANSLATION_TARGETS,
    HU_TRANSLATION_SOURCE_LENGTH,
    HU_TRANSLATION_LENGTH
} hu_translation_field;

#endif
