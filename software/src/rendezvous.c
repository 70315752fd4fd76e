/*
 * Rendezvous channels: one line from the sender (sequence number and the user's words), one line back from the receiver (last
 * sequence number taken). The sequence number is stored last and its line published once; it stands in the same line as the
 * words it announces, so no order between lines is needed.
 */
#include "prismem/rendezvous.h"

#include <errno.h>
#include <stdlib.h>

#include "handle.h"

static size_t ends(const pm_pool *pool) {
  return (size_t)pool->params.nodes * pool->params.channels;
}

int pmi_channels_open(pm_pool *pool) {
  pool->senders = calloc(ends(pool), sizeof *pool->senders);
  pool->receivers = calloc(ends(pool), sizeof *pool->receivers);
  if (pool->senders == NULL || pool->receivers == NULL) return pmi_error(ENOMEM, "memory: no room for the channels");
  for (size_t i = 0; i < ends(pool); ++i) {
    pthread_mutex_init(&pool->senders[i].mutex, NULL);
    pthread_mutex_init(&pool->receivers[i].mutex, NULL);
  }
  return 0;
}

void pmi_channels_close(pm_pool *pool) {
  for (size_t i = 0; pool->senders != NULL && pool->receivers != NULL && i < ends(pool); ++i) {
    pthread_mutex_destroy(&pool->senders[i].mutex);
    pthread_mutex_destroy(&pool->receivers[i].mutex);
  }
  free(pool->senders);
  free(pool->receivers);
}

static pmi_channel *channel_of(const pm_pool *pool, uint32_t from, uint32_t to, uint32_t channel) {
  const size_t number = ((size_t)from * pool->params.nodes + to) * pool->params.channels + channel;
  return (pmi_channel *)pmi_at(pool, pool->layout.channels) + number;
}

static int check(const pm_pool *pool, uint32_t node, uint32_t channel) {
  const int rc = pmi_usable(pool);
  if (rc < 0) return rc;
  if (node >= pool->params.nodes) return pmi_error(EINVAL, "node: %u is outside 0..%u", node, pool->params.nodes - 1);
  if (channel >= pool->params.channels)
    return pmi_error(EINVAL, "channel: %u is outside 0..%u", channel, pool->params.channels - 1);
  return 0;
}

/* Where an earlier owner of this node id left off. */
static void find_sequence(pm_pool *pool, pmi_channel_end *end, const uint64_t *own_line_sequence) {
  if (end->known) return;
  pmi_acquire(pool, own_line_sequence, sizeof *own_line_sequence);
  end->sequence = pmi_load(own_line_sequence);
  end->known = 1;
}

static void store_words(pmi_channel *c, const pm_signal *signal) {
  c->signal.offset = signal->offset;
  c->signal.length = signal->length;
  c->signal.tag = signal->tag;
  c->signal.checksum = signal->checksum;
}

int pm_send(pm_pool *pool, uint32_t node, uint32_t channel, const pm_signal *signal) {
  const int rc = check(pool, node, channel);
  if (rc < 0) return rc;
  pmi_channel *c = channel_of(pool, pool->node, node, channel);
  pmi_channel_end *end = &pool->senders[(size_t)node * pool->params.channels + channel];
  pthread_mutex_lock(&end->mutex);
  find_sequence(pool, end, &c->signal.sequence);
  for (;;) {
    pmi_acquire(pool, &c->taken, sizeof c->taken);
    if (pmi_load(&c->taken.sequence) == end->sequence) break;
    pm_relax();
  }
  end->sequence += 1;
  if (PM_MUTANT_ON(flag_before_data)) {
    pmi_store(&c->signal.sequence, end->sequence);
    pmi_publish(pool, &c->signal, sizeof c->signal);
  }
  store_words(c, signal);
  pmi_store(&c->signal.sequence, end->sequence);
  if (!PM_MUTANT_ON(publish_no_flag_flush)) pmi_publish(pool, &c->signal, sizeof c->signal);
  pmi_sync(pool);
  pthread_mutex_unlock(&end->mutex);
  return 0;
}

int pm_try_receive(pm_pool *pool, uint32_t node, uint32_t channel, pm_signal *signal) {
  const int rc = check(pool, node, channel);
  if (rc < 0) return rc;
  pmi_channel *c = channel_of(pool, node, pool->node, channel);
  pmi_channel_end *end = &pool->receivers[(size_t)node * pool->params.channels + channel];
  pthread_mutex_lock(&end->mutex);
  find_sequence(pool, end, &c->taken.sequence);
  if (!PM_MUTANT_ON(reader_no_invalidate)) pmi_acquire(pool, &c->signal, sizeof c->signal);
  const uint64_t sequence = pmi_load(&c->signal.sequence);
  const int news = sequence == end->sequence + 1;
  if (news) {
    *signal = (pm_signal){.sequence = sequence,
                          .offset = c->signal.offset,
                          .length = c->signal.length,
                          .tag = c->signal.tag,
                          .checksum = c->signal.checksum};
    end->sequence = sequence;
    pmi_store(&c->taken.sequence, sequence);
    pmi_publish(pool, &c->taken, sizeof c->taken);
  }
  pthread_mutex_unlock(&end->mutex);
  return news;
}

int pm_receive(pm_pool *pool, uint32_t node, uint32_t channel, pm_signal *signal) {
  for (;;) {
    const int rc = pm_try_receive(pool, node, channel, signal);
    if (rc != 0) return rc < 0 ? rc : 0;
    pm_relax();
  }
}
