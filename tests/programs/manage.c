/* More calls that move no data: those of groups, datatypes, memory and
 * infos, and queries of topologies (2 ranks). Rank r makes each of them r +
 * 1 times. */
#include "check.h"

static int data[64];

static void groups(void)
{
    MPI_Group all, first, second, made[5];
    int range[1][3] = {{0, 1, 1}}, size;
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    PMPI_Group_incl(all, 1, (int[]){0}, &first);
    PMPI_Group_incl(all, 1, (int[]){1}, &second);
    MPI_Group_union(first, second, &made[0]);
    MPI_Group_intersection(all, first, &made[1]);
    MPI_Group_difference(all, first, &made[2]);
    MPI_Group_range_incl(all, 1, range, &made[3]);
    MPI_Group_range_excl(all, 1, (int[1][3]){{1, 1, 1}}, &made[4]);
    MPI_Group_size(made[0], &size);
    REQUIRE(size == 2);
    for (int i = 0; i < 5; i++)
        PMPI_Group_free(&made[i]);
    PMPI_Group_free(&all);
    PMPI_Group_free(&first);
    PMPI_Group_free(&second);
}

static void types(void)
{
    const int two[2] = {2, 2}, at[2] = {0, 4}, sizes[2] = {4, 4}, zero[2] = {0, 0};
    const int block[1] = {MPI_DISTRIBUTE_BLOCK}, chosen[1] = {MPI_DISTRIBUTE_DFLT_DARG}, one[1] = {1}, eight[1] = {8};
    const MPI_Aint bytes[2] = {0, 16};
    const MPI_Datatype ints[2] = {MPI_INT, MPI_INT};
    MPI_Datatype t[11], contents[1];
    MPI_Aint addresses[1];
    int numbers[3], key, value;
    MPI_Type_vector(2, 2, 4, MPI_INT, &t[0]);
    MPI_Type_indexed(2, two, at, MPI_INT, &t[1]);
    MPI_Type_create_hvector(2, 2, 16, MPI_INT, &t[2]);
    MPI_Type_create_hindexed(2, two, bytes, MPI_INT, &t[3]);
    MPI_Type_create_hindexed_block(2, 2, bytes, MPI_INT, &t[4]);
    MPI_Type_create_indexed_block(2, 2, at, MPI_INT, &t[5]);
    MPI_Type_create_struct(2, two, bytes, ints, &t[6]);
    MPI_Type_create_subarray(2, sizes, two, zero, MPI_ORDER_C, MPI_INT, &t[7]);
    MPI_Type_create_darray(1, 0, 1, eight, block, chosen, one, MPI_ORDER_C, MPI_INT, &t[8]);
    MPI_Type_create_resized(MPI_INT, 0, 16, &t[9]);
    MPI_Type_dup(t[0], &t[10]);
    MPI_Type_set_name(t[10], "twin");
    MPI_Type_get_contents(t[0], 3, 0, 1, numbers, addresses, contents);
    REQUIRE(numbers[0] == 2 && numbers[2] == 4);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
    MPI_Type_set_attr(t[10], key, &value);
    MPI_Type_delete_attr(t[10], key);
    MPI_Type_free_keyval(&key);
    MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 4, &contents[0]);
    for (int i = 0; i < 11; i++)
        PMPI_Type_free(&t[i]);
}

static void memory(void)
{
    char packed[64];
    int position = 0, *made;
    MPI_Aint place = 0;
    MPI_Alloc_mem(64, MPI_INFO_NULL, &made);
    MPI_Free_mem(made);
    MPI_Pack(data, 2, MPI_INT, packed, 64, &position, MPI_COMM_WORLD);
    position = 0;
    MPI_Unpack(packed, 64, &position, data, 2, MPI_INT, MPI_COMM_WORLD);
    MPI_Pack_external("external32", data, 2, MPI_INT, packed, 64, &place);
    place = 0;
    MPI_Unpack_external("external32", packed, 64, &place, data, 2, MPI_INT);
    MPI_Reduce_local(data, data + 2, 2, MPI_INT, MPI_SUM);
}

static void infos(void)
{
    char text[MPI_MAX_INFO_KEY + 1];
    MPI_Info info, twin;
    int found, length;
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Info_get(info, "key", 16, text, &found);
    MPI_Info_get_valuelen(info, "key", &length, &found);
    REQUIRE(found && length == 5);
    MPI_Info_get_nthkey(info, 0, text);
    MPI_Info_dup(info, &twin);
    MPI_Info_delete(twin, "key");
    MPI_Info_free(&info);
    PMPI_Info_free(&twin);
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int release(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

/* requests makes generalized requests, which receive nothing. */
static void requests(void)
{
    MPI_Request request;
    MPI_Grequest_start(query, release, cancel, NULL, &request);
    MPI_Grequest_complete(request);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void topologies(MPI_Comm grid, MPI_Comm graph, MPI_Comm directed)
{
    int dims[1], periods[1], coords[1], place, index[2], edges[2], other[1], sources[1], destinations[1], weights[1];
    MPI_Group group;
    MPI_Cart_get(grid, 1, dims, periods, coords);
    REQUIRE(dims[0] == 2);
    MPI_Cart_map(grid, 1, dims, periods, &place);
    MPI_Graph_get(graph, 2, 2, index, edges);
    MPI_Graph_map(graph, 2, index, edges, &place);
    MPI_Graph_neighbors(graph, world_rank, 1, other);
    MPI_Dist_graph_neighbors(directed, 1, sources, weights, 1, destinations, weights);
    REQUIRE(other[0] == 1 - world_rank && sources[0] == 1 - world_rank);
    MPI_Comm_group(directed, &group);
    PMPI_Group_free(&group);
}

int main(int argc, char **argv)
{
    MPI_Comm grid, graph, directed, between;
    MPI_Group group;
    begin(argc, argv, 2);
    int other = 1 - world_rank;
    MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){2}, (int[]){0}, 0, &grid);
    MPI_Graph_create(MPI_COMM_WORLD, 2, (int[]){1, 2}, (int[]){1, 0}, 0, &graph);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &other, MPI_UNWEIGHTED, 1, &other, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   0, &directed);
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, other, 7, &between);
    for (int i = 0; i <= world_rank; i++) {
        groups();
        types();
        memory();
        infos();
        requests();
        topologies(grid, graph, directed);
        MPI_Comm_remote_group(between, &group);
        PMPI_Group_free(&group);
    }
    MPI_Comm_free(&between);
    MPI_Comm_free(&directed);
    MPI_Comm_free(&graph);
    MPI_Comm_free(&grid);
    return end();
}
