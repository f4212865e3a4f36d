/* Heat on a square plate, by Jacobi iteration on a 2-D grid of processes.
 *
 * The plate is kept at 1 along its top and at 0 along its other sides. Each
 * rank owns a block of the grid, with a border one point wide around it, and
 * in each step
 *   - swaps borders with its four neighbours (Irecv, Isend, Waitall; a row is
 *     contiguous, a column is a vector type),
 *   - replaces each point by the mean of its four neighbours,
 *   - adds up the squares of the changes over all ranks (Allreduce).
 * At the end, the mean of each row of the plate is reduced along the rows of
 * the process grid, the largest value of each column along its columns, and
 * rank 0 gathers the extremes of each block.
 *
 *   usage: halo [-n POINTS] [-m POINTS] [-s STEPS]
 *
 * -n and -m are the rows and columns of the plate, -s the number of steps.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { UP, DOWN, LEFT, RIGHT, SIDES };
enum { TAG_UP, TAG_DOWN, TAG_LEFT, TAG_RIGHT };

typedef struct {
    int rows, cols; /* of the whole plate, the fixed edge not included */
    int steps;
} options;

/* The process grid, and the position of this rank in it. */
typedef struct {
    MPI_Comm grid, row, col;
    int rank, size;
    int dims[2], coords[2];
    int neighbour[SIDES]; /* MPI_PROC_NULL at the edge of the plate */
} layout;

/* A rank's part of the plate: rows x cols points and their border. */
typedef struct {
    int rows, cols;
    int stride;           /* points from one row to the next */
    double *now, *next;
    MPI_Datatype column;  /* rows points, one below the other */
} block;

static double *at(const block *b, double *field, int i, int j)
{
    return field + (size_t)i * (size_t)b->stride + (size_t)j;
}

/* share is how many of n points fall to part i of parts: the first n % parts
 * get one more than the others. */
static int share(int n, int parts, int i)
{
    return n / parts + (i < n % parts);
}

static layout make_layout(void)
{
    layout l = {.dims = {0, 0}};
    const int periods[2] = {0, 0}, along_row[2] = {0, 1}, along_col[2] = {1, 0};
    MPI_Comm_size(MPI_COMM_WORLD, &l.size);
    MPI_Dims_create(l.size, 2, l.dims);
    /* Ranks keep their places, so that what the program sends is known in
     * advance: rank = row * columns + column. */
    MPI_Cart_create(MPI_COMM_WORLD, 2, l.dims, periods, 0, &l.grid);
    MPI_Comm_rank(l.grid, &l.rank);
    MPI_Cart_coords(l.grid, l.rank, 2, l.coords);
    MPI_Cart_shift(l.grid, 0, 1, &l.neighbour[UP], &l.neighbour[DOWN]);
    MPI_Cart_shift(l.grid, 1, 1, &l.neighbour[LEFT], &l.neighbour[RIGHT]);
    MPI_Cart_sub(l.grid, along_row, &l.row);
    MPI_Cart_sub(l.grid, along_col, &l.col);
    MPI_Comm_set_name(l.grid, "grid");
    MPI_Comm_set_name(l.row, "row");
    MPI_Comm_set_name(l.col, "column");
    return l;
}

static void free_layout(layout *l)
{
    MPI_Comm_free(&l->row);
    MPI_Comm_free(&l->col);
    MPI_Comm_free(&l->grid);
}

static double *zeros(size_t n)
{
    double *p = calloc(n, sizeof *p);
    if (!p) {
        fprintf(stderr, "halo: no memory for %zu points\n", n);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return p;
}

static block make_block(const layout *l, const options *o)
{
    block b = {.rows = share(o->rows, l->dims[0], l->coords[0]),
               .cols = share(o->cols, l->dims[1], l->coords[1])};
    b.stride = b.cols + 2;
    size_t points = (size_t)(b.rows + 2) * (size_t)b.stride;
    b.now = zeros(points);
    b.next = zeros(points);
    if (l->coords[0] == 0)
        for (int j = 0; j < b.stride; j++)
            *at(&b, b.now, 0, j) = *at(&b, b.next, 0, j) = 1.0;
    MPI_Type_vector(b.rows, 1, b.stride, MPI_DOUBLE, &b.column);
    MPI_Type_commit(&b.column);
    return b;
}

static void free_block(block *b)
{
    MPI_Type_free(&b->column);
    free(b->now);
    free(b->next);
}

/* swap_borders fills the border with the neighbours' outermost points. */
static void swap_borders(const layout *l, block *b)
{
    MPI_Request q[2 * SIDES];
    const int *to = l->neighbour;
    double *f = b->now;
    MPI_Irecv(at(b, f, 0, 1), b->cols, MPI_DOUBLE, to[UP], TAG_DOWN, l->grid, &q[0]);
    MPI_Irecv(at(b, f, b->rows + 1, 1), b->cols, MPI_DOUBLE, to[DOWN], TAG_UP, l->grid, &q[1]);
    MPI_Irecv(at(b, f, 1, 0), 1, b->column, to[LEFT], TAG_RIGHT, l->grid, &q[2]);
    MPI_Irecv(at(b, f, 1, b->cols + 1), 1, b->column, to[RIGHT], TAG_LEFT, l->grid, &q[3]);
    MPI_Isend(at(b, f, 1, 1), b->cols, MPI_DOUBLE, to[UP], TAG_UP, l->grid, &q[4]);
    MPI_Isend(at(b, f, b->rows, 1), b->cols, MPI_DOUBLE, to[DOWN], TAG_DOWN, l->grid, &q[5]);
    MPI_Isend(at(b, f, 1, 1), 1, b->column, to[LEFT], TAG_LEFT, l->grid, &q[6]);
    MPI_Isend(at(b, f, 1, b->cols), 1, b->column, to[RIGHT], TAG_RIGHT, l->grid, &q[7]);
    MPI_Waitall(2 * SIDES, q, MPI_STATUSES_IGNORE);
}

/* relax does one Jacobi step and returns the sum of the squared changes. */
static double relax(block *b)
{
    double sum = 0;
    for (int i = 1; i <= b->rows; i++) {
        const double *above = at(b, b->now, i - 1, 0), *here = at(b, b->now, i, 0);
        const double *below = at(b, b->now, i + 1, 0);
        double *next = at(b, b->next, i, 0);
        for (int j = 1; j <= b->cols; j++) {
            next[j] = 0.25 * (above[j] + below[j] + here[j - 1] + here[j + 1]);
            sum += (next[j] - here[j]) * (next[j] - here[j]);
        }
    }
    double *old = b->now;
    b->now = b->next;
    b->next = old;
    return sum;
}

/* solve returns the residual: the root of the summed squares of the changes
 * in the last step. */
static double solve(const layout *l, block *b, int steps)
{
    double sum = 0;
    for (int s = 0; s < steps; s++) {
        swap_borders(l, b);
        double mine = relax(b);
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, l->grid);
    }
    return sqrt(sum);
}

/* hottest_row returns, on the first rank of each row of the process grid, the
 * largest mean of a row of the plate; elsewhere 0. */
static double hottest_row(const layout *l, const block *b, int cols)
{
    double *sums = zeros((size_t)b->rows), *totals = zeros((size_t)b->rows);
    for (int i = 0; i < b->rows; i++)
        for (int j = 1; j <= b->cols; j++)
            sums[i] += *at(b, b->now, i + 1, j);
    MPI_Reduce(sums, totals, b->rows, MPI_DOUBLE, MPI_SUM, 0, l->row);
    double hottest = 0;
    for (int i = 0; i < b->rows; i++)
        hottest = fmax(hottest, totals[i] / cols);
    free(sums);
    free(totals);
    return hottest;
}

/* coolest_peak returns the smallest of the columns' largest values, over the columns of the
 * plate of which this rank has a part. */
static double coolest_peak(const layout *l, const block *b)
{
    double *peaks = zeros((size_t)b->cols), coolest = 1;
    for (int i = 1; i <= b->rows; i++)
        for (int j = 0; j < b->cols; j++)
            peaks[j] = fmax(peaks[j], *at(b, b->now, i, j + 1));
    MPI_Allreduce(MPI_IN_PLACE, peaks, b->cols, MPI_DOUBLE, MPI_MAX, l->col);
    for (int j = 0; j < b->cols; j++)
        coolest = fmin(coolest, peaks[j]);
    free(peaks);
    return coolest;
}

static void report(const layout *l, const block *b, const options *o, double residual)
{
    double mine[2] = {hottest_row(l, b, o->cols), coolest_peak(l, b)};
    double *all = l->rank == 0 ? zeros(2 * (size_t)l->size) : NULL;
    MPI_Gather(mine, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 0, l->grid);
    if (l->rank != 0)
        return;
    double hottest = 0, coolest = 1;
    for (int r = 0; r < l->size; r++) {
        hottest = fmax(hottest, all[2 * r]);
        coolest = fmin(coolest, all[2 * r + 1]);
    }
    free(all);
    printf("halo: %d x %d points on %d x %d ranks, %d steps\n", o->rows, o->cols, l->dims[0],
           l->dims[1], o->steps);
    printf("residual %.6e, hottest row %.6f, coolest peak %.6f\n", residual, hottest, coolest);
}

static options parse(int argc, char **argv)
{
    options o = {.rows = 480, .cols = 480, .steps = 500};
    int c, bad = 0;
    while ((c = getopt(argc, argv, "n:m:s:")) != -1) {
        switch (c) {
        case 'n': o.rows = atoi(optarg); break;
        case 'm': o.cols = atoi(optarg); break;
        case 's': o.steps = atoi(optarg); break;
        default: bad = 1;
        }
    }
    if (bad || optind != argc || o.rows < 1 || o.cols < 1 || o.steps < 0) {
        fprintf(stderr, "usage: halo [-n POINTS] [-m POINTS] [-s STEPS]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return o;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    options o = parse(argc, argv);
    layout l = make_layout();
    block b = make_block(&l, &o);
    double residual = solve(&l, &b, o.steps);
    report(&l, &b, &o, residual);
    free_block(&b);
    free_layout(&l);
    MPI_Finalize();
    return 0;
}
