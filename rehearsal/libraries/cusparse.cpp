// cuSPARSE: nothing of it is here; every function is refused by name.
#include "rehearsal.hpp"
