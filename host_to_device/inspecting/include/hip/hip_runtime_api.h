// The whole of the device side that is here is in one file.
#pragma once
#include "../h2d_hip.h"
