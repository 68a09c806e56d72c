"""``python -m osdi_frames`` is the command `osdi-frames`."""

from osdi_frames.cli import run

run()
