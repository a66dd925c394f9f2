// What it declares for kernels is there from the start.
#pragma once
