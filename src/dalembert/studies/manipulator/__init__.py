"""A flexible manipulator: its model, its updating on a modal test, its reduction and its observer."""
