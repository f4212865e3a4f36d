// Makes calls that lead past symbol interposition reach our wrappers: see bind/bind.h.
#ifndef MT_BINDING_H
#define MT_BINDING_H

// Binds an MPI whose files have no _init that calls us. It is called before the MPI is looked up.
void mt_binding_update(void);

#endif
