"""The commands, one file each, named for its command; a command imports its modules when it runs."""
