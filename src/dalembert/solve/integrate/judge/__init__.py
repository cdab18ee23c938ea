"""What a run is judged by: singular poses and the cause of many steps between blocks, energy and stability after it."""
