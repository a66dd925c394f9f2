"""Your GPU, in the page: kernels of the lessons as WebGPU shaders, and the panels that run them in a reader's browser."""
