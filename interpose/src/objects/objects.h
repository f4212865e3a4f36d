// Layer 4, objects: what is known of MPI's handles. Communicators and their groups,
// datatypes, windows, requests, statuses, and the world that peers are ranks of. It asks
// the MPI, and writes what it learns to the recording. It calls base/, file/ and record/.
#ifndef MT_OBJECTS_LAYER_H
#define MT_OBJECTS_LAYER_H

#include "objects/comm.h"
#include "objects/group.h"
#include "objects/handles.h"
#include "objects/request.h"
#include "objects/status.h"
#include "objects/types.h"
#include "objects/win.h"
#include "objects/world.h"

#endif
