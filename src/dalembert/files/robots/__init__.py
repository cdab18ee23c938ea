"""Files of robots: URDF and MJCF."""
