/* The variables by which a program controls the tool interface of imaginary.c. */
#ifndef IMAGINARY_H
#define IMAGINARY_H

extern int imaginary_step;   /* all values follow from it */
extern int imaginary_queued; /* number of unexpected messages */
extern int imaginary_sessions, imaginary_handles; /* how many are open */
extern int imaginary_misused; /* calls with handles or sessions that are not open */

#endif
