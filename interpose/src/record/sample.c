#include "record/sample.h"

#include "base/settings.h"
#include "file/settings_log.h"
#include "record/thread.h"

#include <string.h>

// A row is sampled if its calls take no longer than MT_SHORT times the two readings of
// the clock, and their variance is no more than 1/MT_STEADY of the square of their mean:
// the standard deviation is at most half of the mean. Reading the clock is to take
// 1/MT_CLOCK_SHARE of the calls' time, and at least one call in MT_FEWEST is timed.
enum { MT_SHORT = 8, MT_STEADY = 4, MT_CLOCK_SHARE = 64, MT_FEWEST = 64 };

static double clock_ticks; // duration of two readings of the clock

// Measures how long two readings of the clock take, as the shortest of 64 attempts.
static void measure_clock(void)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 64; i++) {
        uint64_t start = mt_ticks(), took = (mt_ticks(), mt_ticks() - start);
        best = took < best ? took : best;
    }
    clock_ticks = (double)best;
}

static const char *const timings[] = {[MT_TIMING_EXACT] = "exact", [MT_TIMING_SAMPLED] = "sampled",
                                      [MT_TIMING_OFF] = "off", NULL};
static const char *const receives[] = {[MT_RECEIVES_FOLLOWED] = "on", [MT_RECEIVES_UNFOLLOWED] = "off", NULL};

static bool is_one_of(const char *text, const char *const words[], uint32_t *value)
{
    for (uint32_t i = 0; words[i]; i++)
        if (strcmp(text, words[i]) == 0) {
            *value = i;
            return true;
        }
    return false;
}

bool mt_sample_is_setting(const char *text)
{
    uint32_t value;
    return is_one_of(text, timings, &value);
}

static void read_word(mt_setting s, const char *name, const char *const words[], uint32_t *value)
{
    const char *text = mt_setting_text(s);
    if (!text || is_one_of(text, words, value))
        return;
    mt_log("%s=%s is not a known value: %s is used", name, text, words[0]);
    mt_setting_log_rejected(s);
}

void mt_sample_open(void)
{
    read_word(MT_SETTING_TIMING, "MPITRACE_TIMING", timings, &mt_process.header->timing);
    read_word(MT_SETTING_RECEIVES, "MPITRACE_RECEIVES", receives, &mt_process.header->receives);
    mt_process.receives_unfollowed = mt_process.header->receives == MT_RECEIVES_UNFOLLOWED;
    mt_flag_set(MT_FLAG_UNTIMED, mt_process.header->timing == MT_TIMING_OFF);
    mt_flag_set(MT_FLAG_SAMPLED, mt_process.header->timing == MT_TIMING_SAMPLED);
    if (mt_process.header->timing == MT_TIMING_SAMPLED)
        measure_clock();
}

uint64_t mt_sample_table_size(uint64_t rows)
{
    return rows * (sizeof(mt_row) + (mt_process.header->timing == MT_TIMING_SAMPLED ? sizeof(mt_l_sample) : 0));
}

// Returns a random number below n (Marsaglia's xorshift).
static uint32_t random_below(mt_thread *t, uint32_t n)
{
    uint32_t x = t->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    t->random = x;
    return (uint32_t)((uint64_t)x * n >> 32);
}

// Returns n if one in n of a row's later calls is to be timed. This is decided by the
// second half of the row's early calls, because the first calls set things up. Calls
// that take long, or whose durations vary much, usually wait for other processes. A few
// of them may take very long, which a sample would miss. So all of them are timed.
static uint32_t choose_rate(double n, double time, double squares)
{
    double mean = time / n, spread = squares / n - mean * mean;
    if (mean > clock_ticks * MT_SHORT || spread * MT_STEADY > mean * mean)
        return 1;
    double every = mean > 0 ? clock_ticks * MT_CLOCK_SHARE / mean : MT_FEWEST;
    return every >= MT_FEWEST ? MT_FEWEST : (uint32_t)every;
}

// Books a timed call in its row and sample. Until the pace of the row is decided,
// early_time and early_squares are the sums at half of the early calls.
static void book_timed(mt_l_sample *m, mt_row *row, uint64_t ticks)
{
    double took = (int64_t)ticks >= 0 ? (double)ticks : 0; // the clock ran backwards: see mt_row_longest
    mt_row_time(row, ticks);
    m->squares += took * took;
    m->timed++;
    if (m->timed == MT_EARLY_CALLS / 2) {
        m->early_time = row->time;
        m->early_squares = m->squares;
    } else if (m->timed == MT_EARLY_CALLS) {
        m->every = choose_rate(MT_EARLY_CALLS / 2, (double)(row->time - m->early_time), m->squares - m->early_squares);
        m->early_time = row->time;
        m->early_squares = m->squares;
        __atomic_store_n(&m->early, row->count, __ATOMIC_RELEASE);
    }
}

void mt_sample_raise_rate(mt_pace *p, uint32_t wanted)
{
    p->every = p->next = wanted > 1 ? (uint16_t)wanted : 1;
    if (p->left >= 2 * (uint32_t)p->every)
        p->left = 0;
}

// Updates the pace of a site after a timed call. The site has the pace of its most
// demanding row in this turn and the one before. A turn is MT_EARLY_CALLS timed calls.
static void pace_timed(mt_thread *t, mt_pace *p, uint32_t wanted)
{
    if (p->turn == 0 || wanted < p->next)
        p->next = (uint16_t)wanted;
    if (wanted < p->every || p->every == 0)
        p->every = (uint16_t)wanted;
    if (++p->turn == MT_EARLY_CALLS) {
        p->turn = 0;
        p->every = p->next;
    }
    p->drawn = p->every;
    p->left = random_below(t, 2 * (uint32_t)p->every - 1);
}

// Reports whether a timed call goes into the sample of its row. Each later call of a
// row has to be in the sample with the same probability, whatever the pace of its site
// is at the time. Otherwise calls from times at which the site has more calls timed
// would weigh more.
static bool is_sampled(mt_thread *t, const mt_pace *p, const mt_l_sample *m)
{
    return m->early == 0 || p->drawn >= m->every || random_below(t, m->every) < p->drawn;
}

void mt_sample_timed(mt_thread *t, mt_pace *p, mt_row *row, uint64_t ticks)
{
    mt_l_sample *m = mt_sample_of(t, row);
    if (is_sampled(t, p, m))
        book_timed(m, row, ticks);
    pace_timed(t, p, m->every ? m->every : 1);
}

static void add_spent(void *sum, mt_thread *t)
{
    *(uint64_t *)sum += t->open->spent;
}

void mt_sample_log_total(void)
{
    uint64_t ticks = 0;
    const mt_l_clock now = mt_clock_read_all(), *start = &mt_process.header->start;
    mt_thread_each(add_spent, &ticks);
    double rate = (double)(now.monotonic - start->monotonic) / (double)(now.ticks - start->ticks);
    mt_log("rank %d spent %.0f ns in MPI", mt_process.world_rank, (double)ticks * rate);
}
