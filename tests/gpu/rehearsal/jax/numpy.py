import jax

float32 = "float32"


def zeros(shape, dtype):
    return jax._Array()
