/*
 * Error text of the calling thread.
 */
#ifndef PRISMEM_SRC_ERROR_H
#define PRISMEM_SRC_ERROR_H

/** Keep the text for pm_error_text() and return -code, so that a caller can `return pmi_error(EINVAL, ...)`. */
int pmi_error(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
