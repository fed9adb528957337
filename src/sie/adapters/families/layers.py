"""The three parts that every encoder family is made of, holding their weights as checkpoints publish them.

Flax's own Linear, Embed and LayerNorm do more (dtype promotion, sharding hooks) and make tracing a model half as long
again; a model is traced once per bucket each time a process starts. Parameters begin as zeros: they are only shapes
until a checkpoint fills them.
"""

import jax
import jax.numpy as jnp
from flax import nnx


class Linear(nnx.Module):
    """`[..., inputs]` to `[..., outputs]`; `weight [outputs, inputs]`, `bias [outputs]`."""

    def __init__(self, inputs: int, outputs: int) -> None:
        self.weight = nnx.Param(jnp.zeros((outputs, inputs)))
        self.bias = nnx.Param(jnp.zeros(outputs))

    def __call__(self, x: jax.Array) -> jax.Array:
        last = x.ndim - 1
        return jax.lax.dot_general(x, self.weight[...], (((last,), (1,)), ((), ()))) + self.bias[...]


class Embedding(nnx.Module):
    """`weight [size, hidden]`; ids outside it are clipped, so a caller checks its vocabulary first."""

    def __init__(self, size: int, hidden: int) -> None:
        self.weight = nnx.Param(jnp.zeros((size, hidden)))

    def __call__(self, ids: jax.Array) -> jax.Array:
        return self.weight[...].at[ids].get(mode="clip")


class LayerNorm(nnx.Module):
    """Over the last axis. The variance is the mean of squared deviations: E[x²] - E[x]² loses the digits of parity."""

    def __init__(self, hidden: int, epsilon: float) -> None:
        self.weight = nnx.Param(jnp.zeros(hidden))
        self.bias = nnx.Param(jnp.zeros(hidden))
        self.epsilon = epsilon

    def __call__(self, x: jax.Array) -> jax.Array:
        deviation = x - x.mean(-1, keepdims=True)
        variance = (deviation * deviation).mean(-1, keepdims=True)
        return deviation * jax.lax.rsqrt(variance + self.epsilon) * self.weight[...] + self.bias[...]
