"""The kinds of elements of a frame, one file each; `FRAME_ELEMENTS` has them by name."""
