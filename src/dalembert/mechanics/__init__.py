"""From a Mechanism to equations of motion."""
