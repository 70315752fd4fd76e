/*
 * A stream of blocks from one host to another, without a flush of the payload: DMA, then one published signal line.
 *
 * The sender fills one of two blocks while the receiver reads the other. A signal back says that a block may be filled again.
 */
#include "example.h"

enum { BLOCKS = 20, BUFFERS = 2, BLOCK_BYTES = 1024 };

static void fill(unsigned char *block, unsigned number) {
  for (unsigned i = 0; i < BLOCK_BYTES; ++i) block[i] = (unsigned char)(number * 31 + i);
}

static void move(pm_ticket ticket, node *n) {
  must(ticket < 0 ? (int)ticket : pm_dma_wait(n->pool, ticket), "dma");
}

static void send_blocks(node *n) {
  static _Alignas(64) unsigned char block[BLOCK_BYTES];
  uint64_t place;
  pm_signal back;
  must(pm_alloc(n->pool, (uint64_t)BUFFERS * BLOCK_BYTES, &place), "pm_alloc");
  for (unsigned i = 0; i < BLOCKS; ++i) {
    const pm_signal signal = {.offset = place + (uint64_t)(i % BUFFERS) * BLOCK_BYTES, .length = BLOCK_BYTES, .tag = i};
    if (i >= BUFFERS) must(pm_receive(n->pool, 1, 0, &back), "pm_receive");
    fill(block, i);
    move(pm_dma_write(n->pool, signal.offset, block, BLOCK_BYTES), n);
    must(pm_send(n->pool, 1, 0, &signal), "pm_send");
  }
  for (unsigned i = 0; i < BUFFERS; ++i) must(pm_receive(n->pool, 1, 0, &back), "pm_receive");
}

static int receive_blocks(node *n) {
  static _Alignas(64) unsigned char block[BLOCK_BYTES], expected[BLOCK_BYTES];
  for (unsigned i = 0; i < BLOCKS; ++i) {
    pm_signal signal;
    must(pm_receive(n->pool, 0, 0, &signal), "pm_receive");
    move(pm_dma_read(n->pool, signal.offset, block, BLOCK_BYTES), n);
    fill(expected, i);
    if (signal.tag != i || memcmp(block, expected, BLOCK_BYTES) != 0) return 1;
    must(pm_send(n->pool, 0, 0, &(pm_signal){.tag = i}), "pm_send");
  }
  printf("%d blocks of %d bytes arrived\n", BLOCKS, BLOCK_BYTES);
  return 0;
}

int main(int argc, char **argv) {
  node n;
  int failed = 0;
  node_open(&n, argc, argv);
  if (n.id == 0)
    send_blocks(&n);
  else
    failed = receive_blocks(&n);
  node_close(&n);
  return failed;
}
