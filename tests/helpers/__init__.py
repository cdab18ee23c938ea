"""Machines, systems and checks that several tests share."""
