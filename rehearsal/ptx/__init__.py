"""PTX to C++: what NVVM and NVRTC emit, translated into code that the driver can run on the CPU."""
