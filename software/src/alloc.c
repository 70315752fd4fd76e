/*
 * Allocator over the chunks of the pool.
 *
 * Small blocks (a power-of-two class, at most half a chunk) come from chunks that this node owns: a bit in the chunk's live
 * bitmap, whose lines only the owner writes, so the common path takes no lock and flushes one line. Anything larger is a run
 * of whole chunks. Chunks are claimed and given back under PMI_LOCK_ALLOC.
 *
 * A block of another node's chunk is freed under the lock: its bit in the chunk's freed bitmap is set and the owner's count
 * raised. The owner collects such blocks when a class runs dry, and knows by the count whether a look is worth while.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chunk.h"
#include "repair.h"

#define CLASSES_MAX 32u
#define NO_CHUNK UINT32_MAX

/* An owned chunk of small blocks; a list a class holds those with free blocks. */
typedef struct own_chunk {
  uint32_t next; /* in the list of its class */
  uint32_t free; /* blocks */
  uint32_t hint; /* bitmap word where the search starts */
  uint8_t class, purpose, listed;
} own_chunk;

struct pmi_heap {
  pthread_mutex_t mutex; /* taken before PMI_LOCK_ALLOC, never the other way round */
  int loaded;            /* the chunks that earlier owners of the node id left are known */
  uint64_t collected;    /* freed count up to which other nodes' frees were collected */
  uint32_t search;       /* where the next search for a free chunk starts */
  uint32_t list[PURPOSES][CLASSES_MAX];
  own_chunk chunks[];
};

static uint32_t class_for(uint64_t bytes) {
  uint32_t class = 0;
  while ((uint64_t)PM_LINE << class < bytes) class += 1;
  return class;
}

static void list_push(pmi_heap *heap, uint32_t chunk) {
  own_chunk *own = &heap->chunks[chunk];
  if (own->listed) return;
  own->listed = 1;
  own->next = heap->list[own->purpose][own->class];
  heap->list[own->purpose][own->class] = chunk;
}

static void list_remove(pmi_heap *heap, uint32_t chunk) {
  own_chunk *own = &heap->chunks[chunk];
  if (!own->listed) return;
  uint32_t *at = &heap->list[own->purpose][own->class];
  while (*at != chunk) at = &heap->chunks[*at].next;
  *at = own->next;
  own->listed = 0;
}

int pmi_heap_open(pm_pool *pool) {
  pool->heap = calloc(1, sizeof *pool->heap + pool->layout.chunk_count * sizeof(own_chunk));
  if (pool->heap == NULL) return pmi_error(ENOMEM, "memory: no room for the heap");
  pthread_mutex_init(&pool->heap->mutex, NULL);
  for (uint32_t i = 0; i < CLASSES_MAX; ++i)
    pool->heap->list[PURPOSE_USER][i] = pool->heap->list[PURPOSE_PAYLOAD][i] = NO_CHUNK;
  return 0;
}

void pmi_heap_close(pm_pool *pool) {
  if (pool->heap != NULL) pthread_mutex_destroy(&pool->heap->mutex);
  free(pool->heap);
  pool->heap = NULL;
}

static void load_chunk(pm_pool *pool, uint32_t chunk, uint64_t word) {
  own_chunk *own = &pool->heap->chunks[chunk];
  own->class = (uint8_t)pmi_class_of(word);
  own->purpose = (uint8_t)pmi_purpose_of(word);
  own->hint = 0;
  own->free = pmi_count_free(pool, chunk, pmi_class_of(word));
  if (own->free != 0) list_push(pool->heap, chunk);
}

/* Find the chunks that an earlier owner of this node id left. Under the lock. */
static void load_own_chunks(pm_pool *pool) {
  pmi_heap *heap = pool->heap;
  pmi_hold_read_range(pool, &pool->alloc, pmi_owners(pool), pool->layout.chunk_count);
  for (uint32_t chunk = 0; chunk < pool->layout.chunk_count; ++chunk) {
    if (pmi_owners(pool)[chunk] != pool->node + 1) continue;
    pmi_hold_read(pool, &pool->alloc, pmi_chunk_at(pool, chunk));
    const uint64_t word = pmi_load(&pmi_chunk_at(pool, chunk)->word);
    if (pmi_kind_of(word) != CHUNK_SMALL) continue;
    pmi_acquire(pool, pmi_live_of(pool, chunk), pool->layout.bitmap_bytes);
    load_chunk(pool, chunk, word);
  }
  heap->loaded = 1;
}

void pmi_heap_adopt(pm_pool *pool, uint32_t chunk) {
  if (pool->heap->loaded) load_chunk(pool, chunk, pmi_load(&pmi_chunk_at(pool, chunk)->word));
}

uint32_t pmi_chunk_collect(pm_pool *pool, uint32_t chunk, uint32_t class) {
  uint64_t *freed = pmi_freed_of(pool, chunk), *live = pmi_live_of(pool, chunk);
  const uint32_t words = pmi_words_in_bitmap(pool, class);
  pmi_hold_read_range(pool, &pool->alloc, freed, words * sizeof *freed);
  uint32_t found = 0;
  for (uint32_t w = 0; w < words; ++w) {
    const uint64_t bits = pmi_load(&freed[w]);
    if (bits == 0) continue;
    pmi_poke(&live[w], pmi_load(&live[w]) & ~bits);
    pmi_publish(pool, &live[w], sizeof live[w]);
    pmi_poke(&freed[w], 0);
    pmi_hold_changed(pool, &pool->alloc, &freed[w]);
    found += (uint32_t)__builtin_popcountll(bits);
  }
  return found;
}

/* Take back what other nodes freed of this node's chunks. Under the lock. */
static void collect_freed(pm_pool *pool) {
  pmi_heap *heap = pool->heap;
  const pmi_freed_count *count = pmi_freed_count_of(pool, pool->node);
  pmi_hold_read(pool, &pool->alloc, count);
  if (count->count == heap->collected) return;
  heap->collected = count->count;
  pmi_hold_read_range(pool, &pool->alloc, pmi_owners(pool), pool->layout.chunk_count);
  for (uint32_t chunk = 0; chunk < pool->layout.chunk_count; ++chunk) {
    if (pmi_owners(pool)[chunk] != pool->node + 1) continue;
    own_chunk *own = &heap->chunks[chunk];
    pmi_hold_read(pool, &pool->alloc, pmi_chunk_at(pool, chunk));
    if (pmi_kind_of(pmi_load(&pmi_chunk_at(pool, chunk)->word)) != CHUNK_SMALL) continue;
    const uint32_t found = pmi_chunk_collect(pool, chunk, own->class);
    own->free += found;
    if (found != 0) list_push(heap, chunk);
  }
}

/* First of `run` free chunks in a row, or NO_CHUNK. Under the lock. */
static uint32_t find_free_run(pm_pool *pool, uint32_t run) {
  const uint32_t count = (uint32_t)pool->layout.chunk_count;
  uint32_t start = pool->heap->search < count ? pool->heap->search : 0;
  for (uint32_t round = 0; round < 2; ++round, start = 0) {
    uint32_t length = 0;
    for (uint32_t chunk = start; chunk < count; ++chunk) {
      pmi_hold_read(pool, &pool->alloc, &pmi_owners(pool)[chunk]);
      length = pmi_owners(pool)[chunk] == 0 ? length + 1 : 0;
      if (length == run) {
        pool->heap->search = chunk + 1;
        return chunk + 1 - run;
      }
    }
  }
  return NO_CHUNK;
}

void pmi_chunk_set(pm_pool *pool, uint32_t chunk, uint64_t word) {
  const uint8_t owner = pmi_kind_of(word) == CHUNK_FREE ? 0 : (uint8_t)(pmi_owner_of(word) + 1);
  pmi_hold_read(pool, &pool->alloc, &pmi_owners(pool)[chunk]);
  pmi_owners(pool)[chunk] = owner;
  pmi_hold_changed(pool, &pool->alloc, &pmi_owners(pool)[chunk]);
  pmi_hold_read(pool, &pool->alloc, pmi_chunk_at(pool, chunk));
  pmi_poke(&pmi_chunk_at(pool, chunk)->word, word);
  pmi_hold_changed(pool, &pool->alloc, pmi_chunk_at(pool, chunk));
}

/* Make a block of `class` available: collect, else claim a chunk. Returns 0 or -ENOMEM. */
static int refill(pm_pool *pool, uint32_t class, enum chunk_purpose purpose) {
  pmi_heap *heap = pool->heap;
  int rc = pmi_hold_begin(pool, &pool->alloc);
  if (rc < 0) return rc;
  if (!heap->loaded) load_own_chunks(pool);
  const uint32_t *list = &heap->list[purpose][class];
  if (*list == NO_CHUNK) collect_freed(pool);
  if (*list == NO_CHUNK) {
    const uint32_t chunk = find_free_run(pool, 1);
    if (chunk == NO_CHUNK) {
      rc = pmi_error(ENOMEM, "pool: no free chunk left");
    } else {
      const uint64_t word = pmi_chunk_word(CHUNK_SMALL, pool->node, class, purpose, 1);
      pmi_chunk_set(pool, chunk, word);
      pmi_acquire(pool, pmi_live_of(pool, chunk), pool->layout.bitmap_bytes);
      load_chunk(pool, chunk, word);
    }
  }
  pmi_hold_end(pool, &pool->alloc);
  return rc;
}

static uint64_t take_block(pm_pool *pool, uint32_t class, enum chunk_purpose purpose) {
  pmi_heap *heap = pool->heap;
  const uint32_t chunk = heap->list[purpose][class];
  own_chunk *own = &heap->chunks[chunk];
  uint64_t *live = pmi_live_of(pool, chunk);
  const uint32_t blocks = pmi_blocks_in_chunk(pool, class), words = pmi_words_in_bitmap(pool, class);
  assert(own->free > 0);
  for (uint32_t i = 0; i < words; ++i) {
    const uint32_t w = (own->hint + i) % words;
    const uint32_t bits = blocks - w * 64 < 64 ? blocks - w * 64 : 64;
    const uint64_t valid = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    const uint64_t vacant = ~pmi_load(&live[w]) & valid;
    if (vacant == 0) continue;
    const uint32_t bit = (uint32_t)__builtin_ctzll(vacant);
    pmi_poke(&live[w], (valid & ~vacant) | UINT64_C(1) << bit);
    pmi_publish(pool, &live[w], sizeof live[w]);
    own->hint = w;
    own->free -= 1;
    if (own->free == 0) list_remove(heap, chunk);
    return pmi_block_offset(pool, chunk, class, w * 64 + bit);
  }
  abort(); /* `free` and the bitmap disagree: this node's own books are broken */
}

static int alloc_run(pm_pool *pool, uint64_t bytes, enum chunk_purpose purpose, uint64_t *offset) {
  const uint64_t chunks = (bytes + pool->params.chunk_bytes - 1) / pool->params.chunk_bytes;
  if (chunks > pool->layout.chunk_count)
    return pmi_error(ENOMEM, "bytes: %llu is more than the whole pool", (unsigned long long)bytes);
  int rc = pmi_hold_begin(pool, &pool->alloc);
  if (rc < 0) return rc;
  const uint32_t run = (uint32_t)chunks;
  const uint32_t first = find_free_run(pool, run);
  if (first == NO_CHUNK) {
    rc = pmi_error(ENOMEM, "pool: no %u free chunks in a row", run);
  } else {
    for (uint32_t i = 0; i < run; ++i)
      pmi_chunk_set(pool, first + i,
                    pmi_chunk_word(i == 0 ? CHUNK_RUN : CHUNK_INSIDE, pool->node, 0, purpose, i == 0 ? run : 0));
    *offset = pmi_block_offset(pool, first, 0, 0);
  }
  pmi_hold_end(pool, &pool->alloc);
  return rc;
}

static int alloc(pm_pool *pool, uint64_t bytes, enum chunk_purpose purpose, uint64_t *offset) {
  int rc = pmi_usable(pool);
  if (rc < 0) return rc;
  if (bytes == 0) return pmi_error(EINVAL, "bytes: 0 cannot be allocated");
  const int small = bytes <= pool->params.chunk_bytes / 2;
  const uint32_t class = small ? class_for(bytes) : 0;
  pthread_mutex_lock(&pool->heap->mutex);
  if (!small) {
    rc = alloc_run(pool, bytes, purpose, offset);
  } else {
    rc = pool->heap->list[purpose][class] == NO_CHUNK ? refill(pool, class, purpose) : pmi_fence(pool);
    if (rc == 0) *offset = take_block(pool, class, purpose);
  }
  pthread_mutex_unlock(&pool->heap->mutex);
  return rc;
}

int pm_alloc(pm_pool *pool, uint64_t bytes, uint64_t *offset) {
  return alloc(pool, bytes, PURPOSE_USER, offset);
}

int pmi_alloc_payload(pm_pool *pool, uint64_t *offset) {
  return alloc(pool, pool->params.block_bytes, PURPOSE_PAYLOAD, offset);
}

static int not_live(uint64_t offset) {
  return pmi_error(EINVAL, "offset: 0x%llx is not the start of a live allocation", (unsigned long long)offset);
}

/* Give a chunk without blocks back, unless it is the only one of its class with room. */
static int give_back_if_empty(pm_pool *pool, uint32_t chunk) {
  pmi_heap *heap = pool->heap;
  own_chunk *own = &heap->chunks[chunk];
  if (own->free != pmi_blocks_in_chunk(pool, own->class)) return 0;
  if (heap->list[own->purpose][own->class] == chunk && own->next == NO_CHUNK) return 0;
  const int rc = pmi_hold_begin(pool, &pool->alloc);
  if (rc < 0) return rc;
  list_remove(heap, chunk);
  pmi_chunk_set(pool, chunk, CHUNK_FREE);
  return pmi_hold_end(pool, &pool->alloc);
}

/* A block of an own chunk, without the lock. */
static int free_own(pm_pool *pool, uint64_t offset, uint32_t chunk, uint32_t block) {
  uint64_t *live = pmi_live_of(pool, chunk) + block / 64;
  const uint64_t *freed = pmi_freed_of(pool, chunk) + block / 64;
  const uint64_t bit = UINT64_C(1) << block % 64;
  pmi_acquire(pool, freed, sizeof *freed);
  if (!(pmi_load(live) & bit) || (pmi_load(freed) & bit)) return not_live(offset);
  const int rc = pmi_fence(pool);
  if (rc < 0) return rc;
  pmi_poke(live, pmi_load(live) & ~bit);
  pmi_publish(pool, live, sizeof *live);
  own_chunk *own = &pool->heap->chunks[chunk];
  own->free += 1;
  own->hint = block / 64;
  list_push(pool->heap, chunk);
  return give_back_if_empty(pool, chunk);
}

/* A block of another node's chunk. Under the lock. */
static int free_of_other(pm_pool *pool, uint64_t offset, uint32_t chunk, uint32_t block, uint32_t owner) {
  const uint64_t *live = pmi_live_of(pool, chunk) + block / 64;
  uint64_t *freed = pmi_freed_of(pool, chunk) + block / 64;
  const uint64_t bit = UINT64_C(1) << block % 64;
  pmi_acquire(pool, live, sizeof *live);
  pmi_hold_read(pool, &pool->alloc, freed);
  if (!(pmi_load(live) & bit) || (pmi_load(freed) & bit)) return not_live(offset);
  pmi_poke(freed, pmi_load(freed) | bit);
  pmi_hold_changed(pool, &pool->alloc, freed);
  pmi_freed_count *count = pmi_freed_count_of(pool, owner);
  pmi_hold_read(pool, &pool->alloc, count);
  count->count += 1;
  pmi_hold_changed(pool, &pool->alloc, count);
  return 0;
}

/* A run of chunks, or a block of another node. */
static int free_locked(pm_pool *pool, uint64_t offset, uint32_t chunk, uint64_t inside) {
  int rc = pmi_hold_begin(pool, &pool->alloc);
  if (rc < 0) return rc;
  pmi_hold_read(pool, &pool->alloc, pmi_chunk_at(pool, chunk));
  const uint64_t word = pmi_load(&pmi_chunk_at(pool, chunk)->word);
  const uint64_t size = (uint64_t)PM_LINE << pmi_class_of(word);
  if (pmi_kind_of(word) == CHUNK_RUN && inside == 0) {
    for (uint32_t i = 0; i < pmi_run_of(word); ++i) pmi_chunk_set(pool, chunk + i, CHUNK_FREE);
  } else if (pmi_kind_of(word) == CHUNK_SMALL && inside % size == 0) {
    rc = free_of_other(pool, offset, chunk, (uint32_t)(inside / size), pmi_owner_of(word));
  } else {
    rc = not_live(offset);
  }
  pmi_hold_end(pool, &pool->alloc);
  return rc;
}

int pm_free(pm_pool *pool, uint64_t offset) {
  int rc = pmi_usable(pool);
  if (rc < 0) return rc;
  if (offset < pool->layout.heap || offset % PM_LINE != 0) return not_live(offset);
  const uint64_t at = (offset - pool->layout.heap) / pool->params.chunk_bytes;
  const uint64_t inside = (offset - pool->layout.heap) % pool->params.chunk_bytes;
  if (at >= pool->layout.chunk_count) return not_live(offset);
  const uint32_t chunk = (uint32_t)at;
  pthread_mutex_lock(&pool->heap->mutex);
  if (!pool->heap->loaded) {
    rc = pmi_hold_begin(pool, &pool->alloc);
    if (rc == 0) {
      load_own_chunks(pool);
      rc = pmi_hold_end(pool, &pool->alloc);
    }
  }
  if (rc == 0) {
    pmi_acquire(pool, pmi_chunk_at(pool, chunk), sizeof(pmi_chunk));
    const uint64_t word = pmi_load(&pmi_chunk_at(pool, chunk)->word);
    const uint64_t size = (uint64_t)PM_LINE << pmi_class_of(word);
    if (pmi_kind_of(word) == CHUNK_SMALL && pmi_owner_of(word) == pool->node && inside % size == 0)
      rc = free_own(pool, offset, chunk, (uint32_t)(inside / size));
    else
      rc = free_locked(pool, offset, chunk, inside);
  }
  pthread_mutex_unlock(&pool->heap->mutex);
  return rc;
}

int pmi_heap_hold(pm_pool *pool) {
  pthread_mutex_lock(&pool->heap->mutex);
  const int rc = pmi_hold_begin(pool, &pool->alloc);
  if (rc < 0) {
    pthread_mutex_unlock(&pool->heap->mutex);
    return rc;
  }
  if (!pool->heap->loaded) load_own_chunks(pool);
  collect_freed(pool);
  return 0;
}

int pmi_heap_let_go(pm_pool *pool) {
  const int rc = pmi_hold_end(pool, &pool->alloc);
  pthread_mutex_unlock(&pool->heap->mutex);
  return rc;
}
