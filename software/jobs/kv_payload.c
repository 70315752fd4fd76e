/**
 * @file kv_payload.c
 * Contents of KV blocks: token ids from the block's id, payload bytes from its chained digest, so that whoever holds the
 * digest can check every byte (models/payload.py is the same in Python).
 */
#include "kv_share.h"

static uint64_t splitmix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

void kv_tokens(uint64_t hash_id, uint32_t *tokens, size_t n) {
  for (size_t i = 0; i < n; i++) tokens[i] = (uint32_t)(splitmix64(hash_id * 0x10001u + i) >> 32);
}

void kv_payload(pm_digest digest, void *out, size_t bytes) {
  uint64_t *words = out;
  for (size_t i = 0; i < bytes / sizeof *words; i++)
    words[i] = splitmix64(digest.lo + i * 0x9E3779B97F4A7C15u) ^ digest.hi;
}
