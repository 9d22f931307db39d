"""Scans over several branches: chains, fallback branches."""
