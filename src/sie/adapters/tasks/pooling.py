"""From the states of tokens to one vector for each text, inside a compiled program."""

import jax
import jax.numpy as jnp

from sie.adapters.packing import Bucket


def pool(states: jax.Array, positions: jax.Array, segments: jax.Array, pooling: str) -> jax.Array:
    """`states [rows, length, hidden]` to `[rows, segments, hidden]`: the mean of a segment's tokens, or the first."""
    numbers = jnp.arange(1, Bucket(*segments.shape).segments + 1)
    members = segments[:, None, :] == numbers[:, None]
    if pooling == "cls":
        members &= positions[:, None, :] == 0
    weights = members.astype(states.dtype)
    return jnp.einsum("rsl,rlh->rsh", weights, states) / jnp.maximum(weights.sum(-1, keepdims=True), 1.0)


def l2_normalized(vectors: jax.Array) -> jax.Array:
    """Over the last axis."""
    return vectors / jnp.maximum(jnp.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
