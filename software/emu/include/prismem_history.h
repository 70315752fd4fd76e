/**
 * @file prismem_history.h
 * A program under `prismem check` says what its operations are asked and answer; at the end of each execution their history
 * has to be linearizable: as if each had happened at one instant between its begin and its end. So whatever has returned is
 * to be seen by whoever begins later, on any host, and no element is lost or taken twice.
 *
 *     prismem_operation op = prismem_begin(PRISMEM_QUEUE, 0, PRISMEM_TAKE, 0);
 *     bool found = ring_take(ring, &value);
 *     prismem_end(op, found ? value : PRISMEM_NOTHING);
 *
 * | object | call (argument) -> result | at the start |
 * |---|---|---|
 * | PRISMEM_REGISTER | WRITE (value), READ -> value | 0 |
 * | PRISMEM_COUNTER | ADD (difference) -> value before, READ -> value | 0 |
 * | PRISMEM_LOCK | ACQUIRE -> 0 held, else not; RELEASE by the thread that holds it | free |
 * | PRISMEM_QUEUE, PRISMEM_STACK | PUT (value) -> 0 stored, else refused; TAKE -> value or PRISMEM_NOTHING | empty |
 * | PRISMEM_SET, one element a key | INSERT -> 1 added, 0 was there; REMOVE -> 1, 0; CONTAINS -> 1, 0 | absent |
 * | PRISMEM_MAP, one entry a key | WRITE (value), READ -> value or PRISMEM_NOTHING, REMOVE -> 1, 0 | absent |
 *
 * Objects of one kind are told apart by their key. Where no check runs, both functions do nothing.
 */
#ifndef PRISMEM_HISTORY_OF_PROGRAM_H
#define PRISMEM_HISTORY_OF_PROGRAM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum prismem_object {
  PRISMEM_REGISTER,
  PRISMEM_COUNTER,
  PRISMEM_LOCK,
  PRISMEM_QUEUE,
  PRISMEM_STACK,
  PRISMEM_SET,
  PRISMEM_MAP
};

enum prismem_call {
  PRISMEM_READ,
  PRISMEM_WRITE,
  PRISMEM_ADD,
  PRISMEM_ACQUIRE,
  PRISMEM_RELEASE,
  PRISMEM_PUT,
  PRISMEM_TAKE,
  PRISMEM_INSERT,
  PRISMEM_REMOVE,
  PRISMEM_CONTAINS
};

/** The answer of an empty queue or stack, and of a map without the key. */
#define PRISMEM_NOTHING INT64_MIN

typedef uint32_t prismem_operation;

#ifdef PRISMEM_HOOKED
/** The operation begins; at most 4096 in an execution. */
prismem_operation prismem_begin(enum prismem_object object, uint64_t key, enum prismem_call call, int64_t argument);
/** It has answered. One that never does may have taken effect or not. */
void prismem_end(prismem_operation operation, int64_t result);
#else
static inline prismem_operation prismem_begin(enum prismem_object object, uint64_t key, enum prismem_call call,
                                              int64_t argument) {
  (void)object, (void)key, (void)call, (void)argument;
  return 0;
}
static inline void prismem_end(prismem_operation operation, int64_t result) {
  (void)operation, (void)result;
}
#endif

#ifdef __cplusplus
}
#endif
#endif
