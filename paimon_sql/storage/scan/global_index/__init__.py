"""Global indexes looked up for a scan."""
