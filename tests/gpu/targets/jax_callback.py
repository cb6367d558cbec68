"""JAX: a computation on the device that waits for a callback of the host, which waits for
an Event that nobody sets. No thread reads "release": diagnose would have to say that the
callback waits for what comes from outside."""

import threading

import target

try:
    import jax
    import jax.numpy as jnp
except Exception as error:
    target.cannot(error)

never_set = threading.Event()


def wait_on_host(x):
    never_set.wait()
    return x


def block_until_ready():
    shape = jax.ShapeDtypeStruct((4,), jnp.float32)
    compute = jax.jit(lambda x: jax.pure_callback(wait_on_host, shape, x) + 1)
    x = jnp.zeros((4,), jnp.float32)
    compiled = compute.lower(x).compile()
    target.ready("wait_on_host", platform=jax.devices()[0].platform)
    compiled(x).block_until_ready()


target.imported(jax=jax.__version__)
block_until_ready()
target.went_on()
