#include "record/row.h"

void mt_row_longest(mt_row *row, uint64_t ticks)
{
    if ((int64_t)ticks >= 0) {
        mt_write(&row->max, ticks);
        return;
    }
    mt_add(&row->time, -ticks);
    mt_count_lost(&mt_process.header->negative_ticks, 1);
}
