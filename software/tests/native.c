/*
 * Tests on a file, with one process a node:
 *   pm_tests_native [--list] [--nodes N] [--seed S] [--scale K] [--path FILE] [TEST...]
 * One line a test; exit code 0 when all pass, 1 when one fails, 2 for misuse.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pm_test.h"

#define NODE_SECONDS_MAX 60u

typedef struct options {
  uint32_t nodes, scale;
  uint64_t seed;
  const char *path;
} options;

int pm_test_fail(const pm_test_ctx *ctx, const void *addr, const char *where, const char *format, ...) {
  char text[512];
  va_list args;
  (void)addr;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fprintf(stderr, "%s: node %u thread %u: %s\n", where, ctx->node, ctx->thread, text);
  return 1;
}

static pid_t start_node(pm_test_run *run, uint32_t node) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  alarm(NODE_SECONDS_MAX);
  _exit(pm_test_node(run, node));
}

/* The first node that fails ends the others. */
static int wait_nodes(const pid_t *pids, uint32_t nodes) {
  int failed = 0;
  for (uint32_t left = nodes; left > 0; --left) {
    int status = 0;
    if (wait(&status) < 0) return 1;
    if (status == 0) continue;
    if (!failed && WIFSIGNALED(status)) fprintf(stderr, "a node ended by signal %d\n", WTERMSIG(status));
    for (uint32_t i = 0; i < nodes && !failed; ++i) kill(pids[i], SIGKILL);
    failed = 1;
  }
  return failed;
}

static int run_test(const pm_test *test, const options *o) {
  pm_test_run *run = mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (run == MAP_FAILED) return 1;
  run->test = test;
  run->path = o->path;
  run->nodes = test->nodes_max != 0 && test->nodes_max < o->nodes ? test->nodes_max : o->nodes;
  run->seed = o->seed;
  run->scale = o->scale;
  unlink(o->path);
  const int fd = open(o->path, O_RDWR | O_CREAT | O_EXCL, 0600);
  int failed = fd < 0 || ftruncate(fd, (off_t)PM_TEST_POOL_BYTES) != 0;
  if (failed) perror(o->path);
  if (fd >= 0) close(fd);
  pid_t pids[PM_NODES_MAX];
  for (uint32_t node = 0; node < run->nodes && !failed; ++node) pids[node] = start_node(run, node);
  if (!failed) failed = wait_nodes(pids, run->nodes);
  unlink(o->path);
  munmap(run, sizeof *run);
  printf("%s %s\n", failed ? "FAIL" : "ok", test->name);
  fflush(stdout);
  return failed;
}

static int misuse(const char *what, const char *value) {
  fprintf(stderr, "pm_tests_native: %s: '%s' is not valid; --list names the tests\n", what, value);
  return 2;
}

int main(int argc, char **argv) {
  char path[64];
  snprintf(path, sizeof path, "/dev/shm/prismem-test-%d", (int)getpid());
  options o = {.nodes = 4, .scale = 1, .seed = 1, .path = path};
  int failed = 0, ran = 0;
  for (int i = 1; i < argc; ++i) {
    const char *value = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "--list") == 0) {
      for (unsigned t = 0; pm_tests[t] != NULL; ++t) printf("%s\t%s\n", pm_tests[t]->name, pm_tests[t]->about);
      return 0;
    }
    if (strncmp(argv[i], "--", 2) == 0) {
      if (strcmp(argv[i], "--path") == 0)
        o.path = value;
      else if (strcmp(argv[i], "--nodes") == 0)
        o.nodes = (uint32_t)strtoul(value, NULL, 10);
      else if (strcmp(argv[i], "--scale") == 0)
        o.scale = (uint32_t)strtoul(value, NULL, 10);
      else if (strcmp(argv[i], "--seed") == 0)
        o.seed = strtoull(value, NULL, 10);
      else
        return misuse("option", argv[i]);
      if (o.nodes == 0 || o.nodes > PM_NODES_MAX || o.scale == 0 || *o.path == '\0') return misuse(argv[i], value);
      i += 1;
      continue;
    }
    const pm_test *test = pm_test_by_name(argv[i]);
    if (test == NULL) return misuse("test", argv[i]);
    failed |= run_test(test, &o);
    ran += 1;
  }
  for (unsigned t = 0; ran == 0 && pm_tests[t] != NULL; ++t) failed |= run_test(pm_tests[t], &o);
  return failed;
}
