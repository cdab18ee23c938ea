"""The kinds of elements of a frame, one file each; `FRAME_ELEMENTS` knows them by name."""
