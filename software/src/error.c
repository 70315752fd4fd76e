/*
 * Error text of the calling thread: one message, overwritten by the next error.
 */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

#include "prismem/pool.h"

static _Thread_local char error_text[256] = "no error";

int pmi_error(int code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(error_text, sizeof error_text, format, args);
  va_end(args);
  return -code;
}

const char *pm_error_text(void) {
  return error_text;
}
