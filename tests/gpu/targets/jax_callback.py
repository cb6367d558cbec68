"""JAX: a computation on the device that waits for a callback of the host."""

import threading

import target

try:
    import jax
    import jax.numpy as jnp
except Exception as error:
    target.cannot(error)

released = threading.Event()


def wait_on_host(x):
    released.wait()
    return x


def block_until_ready():
    shape = jax.ShapeDtypeStruct((4,), jnp.float32)
    compute = jax.jit(lambda x: jax.pure_callback(wait_on_host, shape, x) + 1)
    x = jnp.zeros((4,), jnp.float32)
    compiled = compute.lower(x).compile()
    target.ready("block_until_ready", platform=jax.devices()[0].platform)
    compiled(x).block_until_ready()


target.imported(jax=jax.__version__)
target.on_release(released.set)
block_until_ready()
target.went_on()
