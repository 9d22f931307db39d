"""REST catalog: a catalog on a server (spec: REST API)."""
