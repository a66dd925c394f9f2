"""Scripts that run in a process of their own, started by `tools.call_python`: JSON in, JSON out."""
