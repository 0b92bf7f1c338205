/*
 * model_file.h - a model as a file: what `cctest fit` writes, and --model reads.
 */
#ifndef CCTEST_PREDICT_MODEL_FILE_H
#define CCTEST_PREDICT_MODEL_FILE_H

#include <jansson.h>

#include "predict/simulate/model.h"

/* STATUS_USAGE, with the file and the place in it, for one that is no model. On success the caller
 * frees *model with free(). */
enum status model_read(const char *path, struct model **model); /* also says if its cores moved */
/* The same of a document that has been read. */
enum status model_document_read(const char *path, const json_t *document, struct model **model);

#define MODEL_MOVED_TEXT_MOST 240
/* The clause that the cores moved while the model was made; NULL: nothing shows that they did. */
const char *model_moved_text(const struct model *model, char to[MODEL_MOVED_TEXT_MOST]);

/* The document; `residuals` (taken over, NULL: none): how well its numbers fit. NULL: out of memory. */
json_t *model_json(const struct model *model, json_t *residuals);

#endif
