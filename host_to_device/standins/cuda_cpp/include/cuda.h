// Empty: everything that this header declares for kernels is declared already.
#pragma once
