"""Stand-ins: what answers in place of GPU libraries on a machine without a GPU."""
