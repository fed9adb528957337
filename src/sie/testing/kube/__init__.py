"""A double of the Kubernetes API for ConfigMaps and Leases: a model, its HTTP face, faults, and a contract."""
