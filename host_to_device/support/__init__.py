"""What every other room may use: what is installed, folders, caches. It imports nothing of ours."""
