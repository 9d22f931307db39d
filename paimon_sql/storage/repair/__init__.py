"""Repair of damaged metadata, and removal of lost files from it."""
