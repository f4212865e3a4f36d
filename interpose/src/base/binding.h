// Makes MPI calls reach our wrappers where symbol interposition does not lead there: see
// bind/bind.h.
#ifndef MT_BINDING_H
#define MT_BINDING_H

// Binds an MPI whose files do not call us when they are loaded, because they have no _init. Called
// before the MPI is looked up.
void mt_binding_update(void);

#endif
