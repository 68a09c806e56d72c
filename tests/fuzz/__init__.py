"""A fuzzing program: damaged and unusual archives, read by `osdi_frames` and by an independent reading."""
