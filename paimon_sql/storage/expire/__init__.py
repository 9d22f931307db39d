"""Expiry: which snapshots may go, which files nobody needs then, and their removal, which may be interrupted."""
