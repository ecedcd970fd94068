"""How exact the probability of a tied block is, by size: against a fine rule for the same integral in 80 bits."""

from benchmarks._process import apart
from benchmarks._table import Row

SIZES = (2, 4, 6, 7, 8, 12, 40, 100, 300, 1000)
LIKELY = -30.0  # below, single precision cannot tell probabilities apart that differ by less than 2e-6


def measure(quick: bool = False) -> list[Row]:
    sizes = [size for size in SIZES if not quick or size <= 40]
    return [row for size in sizes for row in apart(_size, size)[0]]


def weights(size: int, n: int):
    """Log weights of the kinds that are hard: alike, of a few levels, spread by up to e^50, close to the rest's."""
    import numpy as np

    rng = np.random.default_rng(size)
    kinds = [
        np.repeat(rng.uniform(-6, 8, (n, 1)), size, 1),
        rng.normal(rng.uniform(-5, 5, (n, 1)), rng.uniform(0, 4, (n, 1)), (n, size)),
        np.take_along_axis(rng.uniform(-12, 12, (n, 3)), rng.integers(0, 3, (n, size)), 1),
        rng.uniform(4, 10, (n, 1)) + rng.uniform(0, 12, (n, 1)) * rng.random((n, size)),
        rng.uniform(-50, 50, (n, size)),
    ]
    return np.concatenate(kinds).astype(np.float32)


def race(log_weights):
    """One block: log probability and gradient, for a rest of weight one."""
    import numpy as np

    step = 0.02
    x = np.arange(-40, 9, step).astype(np.longdouble)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        z = np.exp(x + log_weights)
        early = -np.expm1(-z)
        height = x[:, 0] - np.exp(x[:, 0]) + np.log(early).sum(1)
        density = np.exp(height - height.max())
        late = np.where(z > 11000, 0, z * np.exp(-z) / early)
    return np.log(density.sum() * step) + height.max(), density @ late / density.sum()


def _size(size: int) -> list[Row]:
    import jax
    import numpy as np

    from plausibly.distributions.primitives import block_log_prob

    x = weights(size, 20 if size <= 40 else 4)
    expected = [race(row) for row in x]
    value = np.array([v for v, _ in expected])
    slope = np.array([s for _, s in expected])
    likely = value > LIKELY
    rows = []
    for dtype in (np.float32, np.float64):
        jax.config.update("jax_enable_x64", dtype == np.float64)
        of_all = jax.jit(jax.vmap(jax.value_and_grad(block_log_prob)))
        got, found = of_all(x.astype(dtype), np.zeros(len(x), dtype))
        error = np.abs(np.asarray(got, np.longdouble) - value)
        remark = f"gradient {np.abs(np.asarray(found) - slope).max():.0e}"
        if not likely.all():
            steps = (error / np.spacing(np.abs(value).astype(dtype)))[~likely].max()
            remark += f"; where log p < {LIKELY:.0f}: {float(steps):.1f} steps of its representation"
        worst = float(np.expm1(error[likely].max(initial=0)))
        rows.append(Row(f"block of {size}, {np.dtype(dtype).name}: worst relative error", worst, "", remark=remark))
    return rows
