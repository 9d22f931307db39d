"""HTTP to a REST catalog's server: connections, authentication, signatures, vended credentials, errors."""
