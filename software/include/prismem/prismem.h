/**
 * @file prismem.h
 * All of libprismem.
 */
#ifndef PRISMEM_PRISMEM_H
#define PRISMEM_PRISMEM_H

#include "alloc.h"
#include "digest.h"
#include "dma.h"
#include "fsck.h"
#include "index.h"
#include "inspect.h"
#include "lock.h"
#include "object.h"
#include "pool.h"
#include "recover.h"
#include "rendezvous.h"
#include "verbs.h"

#endif
