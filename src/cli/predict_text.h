/* cli/predict_text.h - `predict RUN text=...`: how a language model goes on with a text. */
#ifndef HU_CLI_PREDICT_TEXT_H
#define HU_CLI_PREDICT_TEXT_H
#include "config/config.h"

/* Prints what the run that is the first subject puts behind predict.text (session/evaluation.h).
 * HU_ERR_MISSING, HU_ERR_IO: of the file of the text, or of standard input. */
hu_status hu_predict_text(hu_config *config);

#endif
