"""Tables: identity, directories, statistics and time travel."""
