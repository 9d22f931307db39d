"""Access to what lies outside of a warehouse: policy, locations, HTTP."""
