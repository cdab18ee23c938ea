"""The commands, one file each, named for its command; a command imports what it needs when it runs."""
