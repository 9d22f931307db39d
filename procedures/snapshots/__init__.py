"""Procedures on snapshots, changelogs and consumers."""
