"""An inference cluster for search, built on Trio, NATS JetStream and JAX."""

__version__ = "0.1.0"
