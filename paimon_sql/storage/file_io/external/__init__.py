"""Access to locations outside of a warehouse: policy, locations, HTTP."""
