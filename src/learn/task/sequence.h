/* task/sequence.h - tasks of sequences: translation and transcription. */
#ifndef HU_TASK_SEQUENCE_H
#define HU_TASK_SEQUENCE_H

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
