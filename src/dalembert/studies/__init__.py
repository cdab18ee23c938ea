"""Case studies, one file each, in folders by subject."""
