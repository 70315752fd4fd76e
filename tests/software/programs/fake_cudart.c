/*
 * A CUDA runtime without GPU, for the tests of transfers by CUDA: it can refuse, fail and take its time, and it writes down
 * every call. Copies that were queued happen when their event is found complete, not before.
 *
 * Environment: FAKE_CUDA_LOG file of the calls; FAKE_CUDA words, separated by blanks: no_device, refuse_register=N (the Nth
 * call), fail_copy, fail_event, polls=N (an event is ready at the Nth query).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_READY = 600, REFUSED = 801, ILLEGAL = 700, COPIES_MAX = 1024 };

struct copy {
  void *to;
  const void *from;
  size_t bytes;
};

static struct copy queued[COPIES_MAX];
static int queue_length, last_error, registrations, queries;

static long option(const char *name) {
  const char *text = getenv("FAKE_CUDA");
  const char *found = text == NULL ? NULL : strstr(text, name);
  if (found == NULL) return 0;
  return found[strlen(name)] == '=' ? strtol(found + strlen(name) + 1, NULL, 0) : 1;
}

static int done(const char *call, size_t bytes, int code) {
  const char *path = getenv("FAKE_CUDA_LOG");
  FILE *log = path == NULL ? NULL : fopen(path, "a");
  if (log != NULL) {
    fprintf(log, "%s %zu %d\n", call, bytes, code);
    fclose(log);
  }
  if (code != 0) last_error = code;
  return code;
}

int cudaGetDeviceCount(int *count) {
  *count = option("no_device") ? 0 : 1;
  return done("cudaGetDeviceCount", 0, 0);
}
int cudaHostRegister(void *at, size_t bytes, unsigned flags) {
  (void)at, (void)flags;
  registrations += 1;
  return done("cudaHostRegister", bytes, registrations == option("refuse_register") ? REFUSED : 0);
}
int cudaHostUnregister(void *at) {
  (void)at;
  return done("cudaHostUnregister", 0, 0);
}
int cudaStreamCreateWithFlags(void **stream, unsigned flags) {
  (void)flags;
  *stream = &queue_length;
  return done("cudaStreamCreateWithFlags", 0, 0);
}
int cudaStreamDestroy(void *stream) {
  (void)stream;
  return done("cudaStreamDestroy", 0, 0);
}
int cudaEventCreateWithFlags(void **event, unsigned flags) {
  (void)flags;
  *event = malloc(1);
  return done("cudaEventCreateWithFlags", 0, 0);
}
int cudaEventDestroy(void *event) {
  free(event);
  return done("cudaEventDestroy", 0, 0);
}
int cudaEventRecord(void *event, void *stream) {
  (void)event, (void)stream;
  queries = 0;
  return done("cudaEventRecord", 0, 0);
}
int cudaEventQuery(void *event) {
  (void)event;
  if (option("fail_event")) return done("cudaEventQuery", 0, ILLEGAL);
  if (++queries < option("polls")) return done("cudaEventQuery", 0, NOT_READY);
  for (int i = 0; i < queue_length; ++i) memcpy(queued[i].to, queued[i].from, queued[i].bytes);
  queue_length = 0;
  return done("cudaEventQuery", 0, 0);
}
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind) {
  (void)kind;
  if (option("fail_copy")) return done("cudaMemcpy", bytes, ILLEGAL);
  memcpy(to, from, bytes);
  return done("cudaMemcpy", bytes, 0);
}
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) {
  (void)kind, (void)stream;
  if (option("fail_copy") || queue_length == COPIES_MAX) return done("cudaMemcpyAsync", bytes, ILLEGAL);
  queued[queue_length++] = (struct copy){to, from, bytes};
  return done("cudaMemcpyAsync", bytes, 0);
}
int cudaGetLastError(void) {
  const int code = done("cudaGetLastError", 0, last_error);
  last_error = 0;
  return code;
}
const char *cudaGetErrorString(int code) {
  return code == REFUSED ? "operation not supported" : code == ILLEGAL ? "illegal address" : "unspecified";
}
