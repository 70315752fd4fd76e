/*
 * Transfers by the CUDA runtime.
 *
 * The runtime is opened at run time (PM_CUDA_RUNTIME names the file, libcudart.so by default), so the library needs no CUDA to
 * build or run. At the first transfer of a pool its mapping is registered with cudaHostRegister, in pieces, for one call for
 * all of a large pool is refused by some drivers. Every return code is looked at, and the runtime's sticky error is cleared
 * after a failure, or the program's next CUDA call would report it as its own.
 *
 * When the runtime refuses to register the pool (a DAX mapping often cannot be pinned), transfers go through a bounce buffer:
 * a synchronous copy by the runtime on one side, streaming stores on the other.
 *
 * Inbound DMA may be put into this host's last-level cache instead of the device (DDIO), so the lines of a finished write are
 * flushed before it counts as complete.
 */
#include "dma_cuda.h"

#include <errno.h>

#include "handle.h"

#ifdef PRISMEM_HOOKED

int pmi_cuda_available(void) {
  return pmi_error(ENOTSUP, "dma: an instrumented build has no CUDA");
}
int64_t pmi_cuda_submit(pm_pool *pool, int dir, void *at, void *memory, size_t bytes) {
  (void)pool, (void)dir, (void)at, (void)memory, (void)bytes;
  return pmi_cuda_available();
}
int pmi_cuda_poll(pm_pool *pool, int64_t ticket) {
  (void)pool, (void)ticket;
  return pmi_cuda_available();
}
void pmi_cuda_close(pm_pool *pool) {
  (void)pool;
}

#else

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES_MAX (UINT64_C(64) << 30)
#define FLIGHT_MAX 256
#define BOUNCE_BYTES ((size_t)1 << 20)

/* Of the runtime's interface, which is stable since CUDA 4. */
enum { CUDA_SUCCESS = 0, CUDA_NOT_READY = 600 };
enum { REGISTER_PORTABLE = 1, STREAM_NON_BLOCKING = 1, EVENT_NO_TIMING = 2, COPY_DEFAULT = 4 };

typedef struct runtime {
  int (*cudaGetDeviceCount)(int *);
  int (*cudaHostRegister)(void *, size_t, unsigned);
  int (*cudaHostUnregister)(void *);
  int (*cudaStreamCreateWithFlags)(void **, unsigned);
  int (*cudaStreamDestroy)(void *);
  int (*cudaEventCreateWithFlags)(void **, unsigned);
  int (*cudaEventDestroy)(void *);
  int (*cudaEventRecord)(void *, void *);
  int (*cudaEventQuery)(void *);
  int (*cudaMemcpy)(void *, const void *, size_t, int);
  int (*cudaMemcpyAsync)(void *, const void *, size_t, int, void *);
  int (*cudaGetLastError)(void);
  const char *(*cudaGetErrorString)(int);
} runtime;

/* A transfer in flight; slot = ticket mod FLIGHT_MAX. */
typedef struct flight {
  int64_t ticket; /* 0: vacant */
  void *event;    /* made once, used again */
  int dir;
  void *at;
  size_t bytes;
} flight;

struct pmi_cuda_pool {
  pthread_mutex_t mutex;
  int registered; /* the whole mapping; else every transfer bounces */
  uint64_t piece_bytes;
  void *stream;
  int64_t next;
  flight flights[FLIGHT_MAX];
};

static runtime rt;
static pthread_once_t rt_once = PTHREAD_ONCE_INIT;
static char rt_problem[200];

static void *must_find(void *library, const char *name) {
  void *symbol = dlsym(library, name);
  if (symbol == NULL && rt_problem[0] == 0) snprintf(rt_problem, sizeof rt_problem, "the CUDA runtime has no %s", name);
  return symbol;
}

static void load_runtime(void) {
  const char *path = getenv("PM_CUDA_RUNTIME");
  if (path == NULL) path = "libcudart.so";
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    snprintf(rt_problem, sizeof rt_problem, "%s; PM_CUDA_RUNTIME names the CUDA runtime to use", dlerror());
    return;
  }
#define FIND(name) *(void **)&rt.name = must_find(library, #name)
  FIND(cudaGetDeviceCount);
  FIND(cudaHostRegister);
  FIND(cudaHostUnregister);
  FIND(cudaStreamCreateWithFlags);
  FIND(cudaEventCreateWithFlags);
  FIND(cudaStreamDestroy);
  FIND(cudaEventDestroy);
  FIND(cudaEventRecord);
  FIND(cudaEventQuery);
  FIND(cudaMemcpy);
  FIND(cudaMemcpyAsync);
  FIND(cudaGetLastError);
  FIND(cudaGetErrorString);
#undef FIND
  if (rt_problem[0] != 0) return;
  int devices = 0;
  const int code = rt.cudaGetDeviceCount(&devices);
  if (code != CUDA_SUCCESS) {
    snprintf(rt_problem, sizeof rt_problem, "cudaGetDeviceCount: %s", rt.cudaGetErrorString(code));
    (void)rt.cudaGetLastError();
  } else if (devices == 0) {
    snprintf(rt_problem, sizeof rt_problem, "the CUDA runtime sees no device");
  }
}

int pmi_cuda_available(void) {
  pthread_once(&rt_once, load_runtime);
  return rt_problem[0] == 0 ? 0 : pmi_error(ENODEV, "dma: cuda: %s", rt_problem);
}

/* The runtime's own text; its sticky error is cleared. */
static int failed(const char *call, int code) {
  const int rc = pmi_error(EIO, "dma: cuda: %s: %s (%d)", call, rt.cudaGetErrorString(code), code);
  (void)rt.cudaGetLastError();
  return rc;
}

/* All pieces or none. */
static int register_pool(pm_pool *pool, const pmi_cuda_pool *cuda) {
  uint64_t done = 0;
  while (done < pool->bytes) {
    const uint64_t rest = pool->bytes - done;
    const uint64_t bytes = rest < cuda->piece_bytes ? rest : cuda->piece_bytes;
    const int code = rt.cudaHostRegister(pool->base + done, bytes, REGISTER_PORTABLE);
    if (code != CUDA_SUCCESS) {
      (void)failed("cudaHostRegister", code);
      for (uint64_t at = 0; at < done; at += cuda->piece_bytes) {
        if (rt.cudaHostUnregister(pool->base + at) != CUDA_SUCCESS) (void)rt.cudaGetLastError();
      }
      return 0;
    }
    done += bytes;
  }
  return 1;
}

/* Tests have small pools: PM_CUDA_PIECE_BYTES makes pieces smaller than the limit. */
static uint64_t piece_bytes(void) {
  const char *text = getenv("PM_CUDA_PIECE_BYTES");
  const uint64_t wanted = text == NULL ? 0 : strtoull(text, NULL, 0);
  return wanted >= PMI_POOL_ALIGN && wanted <= PIECE_BYTES_MAX ? wanted / PMI_POOL_ALIGN * PMI_POOL_ALIGN
                                                               : PIECE_BYTES_MAX;
}

static int cuda_open(pm_pool *pool) {
  const int rc = pmi_cuda_available();
  if (rc < 0) return rc;
  pmi_cuda_pool *cuda = calloc(1, sizeof *cuda);
  if (cuda == NULL) return pmi_error(ENOMEM, "memory: no room for CUDA transfers");
  cuda->next = 1;
  cuda->piece_bytes = piece_bytes();
  const int code = rt.cudaStreamCreateWithFlags(&cuda->stream, STREAM_NON_BLOCKING);
  if (code != CUDA_SUCCESS) {
    free(cuda);
    return failed("cudaStreamCreateWithFlags", code);
  }
  pthread_mutex_init(&cuda->mutex, NULL);
  cuda->registered = register_pool(pool, cuda);
  pool->cuda = cuda;
  return 0;
}

static int64_t bounce(int dir, unsigned char *at, unsigned char *memory, size_t bytes) {
  const size_t unit = bytes < BOUNCE_BYTES ? bytes : BOUNCE_BYTES;
  unsigned char *buffer = aligned_alloc(PM_LINE, unit);
  int code = CUDA_SUCCESS;
  if (buffer == NULL) return pmi_error(ENOMEM, "memory: no room for a bounce buffer of %zu bytes", unit);
  for (size_t done = 0; code == CUDA_SUCCESS && done < bytes; done += unit) {
    const size_t part = bytes - done < unit ? bytes - done : unit;
    if (dir == 0) {
      code = rt.cudaMemcpy(buffer, memory + done, part, COPY_DEFAULT);
      if (code == CUDA_SUCCESS) pmi_stream_copy(at + done, buffer, part);
    } else {
      memcpy(buffer, at + done, part);
      code = rt.cudaMemcpy(memory + done, buffer, part, COPY_DEFAULT);
    }
  }
  free(buffer);
  return code == CUDA_SUCCESS ? 0 : failed("cudaMemcpy", code);
}

/* One copy for each registered piece, and behind them the event that tells when all are done. */
static int copy_pieces(const pm_pool *pool, const pmi_cuda_pool *cuda, const flight *f, unsigned char *memory) {
  unsigned char *at = f->at;
  for (size_t done = 0; done < f->bytes;) {
    const uint64_t inside = (uint64_t)(at + done - pool->base) % cuda->piece_bytes;
    const size_t rest = f->bytes - done;
    const size_t part = rest < cuda->piece_bytes - inside ? rest : (size_t)(cuda->piece_bytes - inside);
    void *to = f->dir == 0 ? at + done : memory + done;
    const void *from = f->dir == 0 ? memory + done : at + done;
    const int code = rt.cudaMemcpyAsync(to, from, part, COPY_DEFAULT, cuda->stream);
    if (code != CUDA_SUCCESS) return failed("cudaMemcpyAsync", code);
    done += part;
  }
  const int code = rt.cudaEventRecord(f->event, cuda->stream);
  return code == CUDA_SUCCESS ? 0 : failed("cudaEventRecord", code);
}

static int64_t start(pm_pool *pool, pmi_cuda_pool *cuda, int dir, void *at, void *memory, size_t bytes) {
  flight *f = &cuda->flights[cuda->next % FLIGHT_MAX];
  if (f->ticket != 0) return pmi_error(EAGAIN, "dma: cuda: %d transfers are in flight; wait for one", FLIGHT_MAX);
  if (f->event == NULL) {
    const int code = rt.cudaEventCreateWithFlags(&f->event, EVENT_NO_TIMING);
    if (code != CUDA_SUCCESS) return failed("cudaEventCreateWithFlags", code);
  }
  *f = (flight){.event = f->event, .dir = dir, .at = at, .bytes = bytes};
  const int rc = copy_pieces(pool, cuda, f, memory);
  if (rc < 0) return rc;
  f->ticket = cuda->next++;
  return f->ticket;
}

int64_t pmi_cuda_submit(pm_pool *pool, int dir, void *at, void *memory, size_t bytes) {
  static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&opening);
  const int rc = pool->cuda == NULL ? cuda_open(pool) : 0;
  pthread_mutex_unlock(&opening);
  if (rc < 0) return rc;
  pmi_cuda_pool *cuda = pool->cuda;
  pthread_mutex_lock(&cuda->mutex);
  int64_t ticket;
  if (cuda->registered) {
    ticket = start(pool, cuda, dir, at, memory, bytes);
  } else {
    ticket = bounce(dir, at, memory, bytes);
    if (ticket == 0) ticket = cuda->next++; /* in no slot: complete */
  }
  pthread_mutex_unlock(&cuda->mutex);
  return ticket;
}

int pmi_cuda_poll(pm_pool *pool, int64_t ticket) {
  pmi_cuda_pool *cuda = pool->cuda;
  if (cuda == NULL || ticket >= cuda->next) return pmi_error(EINVAL, "ticket: was never given out");
  int rc = 1;
  pthread_mutex_lock(&cuda->mutex);
  flight *f = &cuda->flights[ticket % FLIGHT_MAX];
  if (f->ticket == ticket) {
    const int code = rt.cudaEventQuery(f->event);
    rc = code == CUDA_SUCCESS ? 1 : code == CUDA_NOT_READY ? 0 : failed("transfer", code);
    if (code == CUDA_NOT_READY) (void)rt.cudaGetLastError();
    if (rc != 0) f->ticket = 0;
    if (rc == 1 && f->dir == 0) pmi_acquire(pool, f->at, f->bytes);
  }
  pthread_mutex_unlock(&cuda->mutex);
  return rc;
}

void pmi_cuda_close(pm_pool *pool) {
  pmi_cuda_pool *cuda = pool->cuda;
  if (cuda == NULL) return;
  for (uint64_t at = 0; cuda->registered && at < pool->bytes; at += cuda->piece_bytes) {
    if (rt.cudaHostUnregister(pool->base + at) != CUDA_SUCCESS) (void)rt.cudaGetLastError();
  }
  for (unsigned i = 0; i < FLIGHT_MAX; ++i) {
    if (cuda->flights[i].event != NULL) (void)rt.cudaEventDestroy(cuda->flights[i].event);
  }
  (void)rt.cudaStreamDestroy(cuda->stream);
  pthread_mutex_destroy(&cuda->mutex);
  free(cuda);
  pool->cuda = NULL;
}

#endif
