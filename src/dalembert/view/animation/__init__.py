"""The moving page: scenes, shapes, data."""
