"""What the commands share: how one is declared and run, its options and their values, what it prints."""
