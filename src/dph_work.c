/* Blocks for the lanes of a walk; see dph_work.h. */
#include "dph_work.h"

#include <string.h>

static size_t width_of(const dph_rows *rows) {
  const size_t k = dph_rows_columns(rows);
  return k > 0 ? k : 1;
}

static dph_block block_at(double *memory, size_t columns) {
  dph_block block;
  block.z = memory;
  block.y = memory + columns * DPH_BLOCK;
  block.eta = block.y + DPH_BLOCK;
  block.psi = block.eta + DPH_BLOCK;
  block.m = block.psi + DPH_BLOCK;
  block.work = block.m + DPH_BLOCK;
  block.valid = (unsigned char *)(block.work + DPH_BLOCK);
  block.unit = NULL;
  return block;
}

dph_status dph_gradient_work_make(const dph_rows *rows, dph_gradient_work *w,
                                  dph_error *err) {
  const size_t columns = width_of(rows) + 1;
  const dph_walk walk =
      dph_walk_plan(dph_rows_records(rows), width_of(rows), rows->threads, 0, 0);
  const size_t blocks = walk.lanes * (rows->units ? 2 : 1);
  void *memory = NULL, *lane = NULL;
  size_t numbers = 0;
  memset(w, 0, sizeof *w);
  DPH_TRY(dph_size_mul((columns + 6) * DPH_BLOCK, blocks, &numbers, err));
  DPH_TRY(dph_alloc(&memory, numbers, sizeof(double), err));
  const dph_status status = dph_alloc(&lane, blocks, sizeof(dph_block), err);
  if (status != DPH_OK) {
    dph_free(memory);
    return status;
  }
  w->lanes = walk.lanes;
  w->memory = memory;
  w->lane = lane;
  for (size_t i = 0; i < blocks; i++) {
    w->lane[i] = block_at(w->memory + i * (columns + 6) * DPH_BLOCK, columns);
  }
  for (size_t i = w->lanes; i < blocks; i++) {
    w->lane[i - w->lanes].unit = &w->lane[i];
  }
  return DPH_OK;
}

void dph_gradient_work_free(dph_gradient_work *w) {
  dph_free(w->memory);
  dph_free(w->lane);
  memset(w, 0, sizeof *w);
}

dph_walk dph_work_plan(const dph_rows *rows, const dph_gradient_work *w, int ordered,
                       size_t sum_bytes) {
  return dph_walk_plan(dph_rows_records(rows), width_of(rows), (int)w->lanes, ordered,
                       sum_bytes);
}
