"""What a run is judged by between blocks of steps: singular poses, and the cause of many steps."""
