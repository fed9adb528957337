"""A thin typed client of the Kubernetes API for what pools need: ConfigMaps and Leases (§10, §16.3)."""
