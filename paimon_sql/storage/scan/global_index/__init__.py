"""Search of global indexes for a scan."""
