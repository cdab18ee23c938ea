"""Files of robots: URDF."""
