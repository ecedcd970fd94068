"""The Gibbs sampler as a kernel of ``numpyro.infer.MCMC``."""

import copy
from typing import Any, NamedTuple

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, UInt32
from numpyro.infer.mcmc import MCMCKernel

from plausibly.base.checks import check_whole
from plausibly.base.errors import ArgumentError
from plausibly.inference.gibbs._random import lane_words
from plausibly.inference.gibbs._sweep import State, Tallies, log_density, start, sweep, tally


def check_repeats(reliability: Any, mode: str = "power") -> None:
    """Refuse a mode other than ``"power"``, or a reliability that is not a whole number."""
    if mode != "power":
        raise ArgumentError(
            f"the Gibbs sampler knows mode='power' alone, but mode={mode!r} was given: choose engine='nuts'."
        )
    # A value that is being traced has none to check.
    if not isinstance(reliability, jax.core.Tracer):
        values = np.asarray(reliability, float)
        if not ((values >= 1) & (values == np.round(values)) & (values < 2**24)).all():
            raise ArgumentError(
                "the Gibbs sampler repeats every annotation reliability times, a whole number, but "
                f"{reliability!r} was given: round it, or choose engine='nuts'."
            )


class GibbsState(NamedTuple):
    """State of :class:`PlackettLuceGibbs`, chains on the leading axis if there are several."""

    z: dict[str, Float[Array, "*chain slot"] | Float[Array, "*chain slot case"]]
    """The draw: ``plausibility``."""

    lp: Float[Array, "*chain"] | Float[Array, "*chain case"]
    """Log posterior density in log-ratio coordinates, up to a constant."""

    times: Float[Array, "*chain set case"]
    rng_key: Key[Array, "*chain"] | UInt32[Array, "*chain 2"]
    """Another in its place gives other numbers, as ``MCMC.run`` does when it goes on from ``post_warmup_state``."""

    clock: Int[Array, "*chain"]


class PlackettLuceGibbs(MCMCKernel):
    r"""Gibbs sampling of :func:`plausibly.models.plackett_luce` with ``mode="power"`` and a whole reliability.

    Parameters
    ----------
    sweeps
        Updates of everything that make one draw.

    Notes
    -----
    Run it with the arguments of the program: ``mcmc.run(key, case, reliability=3)``. The arrays of the case may have a
    further axis at the end, over cases; all of them are then sampled side by side, and ``reliability`` may differ
    between them. Several chains need ``chain_method="vectorized"`` (or ``"sequential"``). Draws are found under
    "plausibility", with the axes of ``case.n_classes``; ``extra_fields=("lp",)`` gives the log density.
    ``MCMC.warmup``, ``post_warmup_state`` and ``arviz.from_numpyro`` work as with the kernels of NumPyro.

    The posterior is the one that NUTS samples. There is nothing to adapt: warm-up only forgets the start.

    Raises
    ------
    ArgumentError
        When run with another mode, or a reliability that is not a whole number.

    References
    ----------
    Caron & Doucet (2012), Efficient Bayesian inference for generalized Bradley-Terry models, section 3; Stutz et al.
    (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, Appendix B.2.

    Examples
    --------
    Three annotators say a, one says b, of three classes: a Dirichlet posterior of shapes 4, 2 and 1.

    >>> from numpyro.infer import MCMC
    >>> from plausibly.annotations import Annotations, Slots
    >>> from plausibly.inference._batching import bucket_cases
    >>> annotations = Annotations.from_labels([["a", "a", "a", "b"]], classes=["a", "b", "c"])
    >>> slots = Slots.of(annotations)
    >>> (bucket,) = bucket_cases(annotations, slots, np.ones(len(slots)))
    >>> case = jax.tree.map(lambda a: jnp.asarray(a[0]), bucket.data)
    >>> mcmc = MCMC(PlackettLuceGibbs(), num_warmup=50, num_samples=4000, progress_bar=False)
    >>> mcmc.run(jax.random.key(0), case, reliability=1.0)
    >>> (mcmc.get_samples()["plausibility"].mean(0) * 7).round().tolist()
    [4.0, 2.0, 1.0]
    """

    sample_field = "z"
    model = None  #: the sampler is that of one model, and goes through no program; ArviZ asks for it

    def __init__(self, sweeps: int = 1):
        self.sweeps = check_whole("sweeps", sweeps, 1)

    def init(
        self,
        rng_key: Key[Array, "*chain"] | UInt32[Array, "*chain 2"],
        num_warmup: int,
        init_params: Any,
        model_args: tuple,
        model_kwargs: dict[str, Any] | None,
    ) -> GibbsState:
        """Begin; ``init_params`` are not used."""
        arguments = {"reliability": 1.0, "mode": "power"} | (model_kwargs or {})
        check_repeats(arguments["reliability"], arguments["mode"])

        @jax.jit
        def begin(rng_key: Key[Array, "*chain"] | UInt32[Array, "*chain 2"]) -> GibbsState:
            tallies = self._tallies(model_args, model_kwargs)
            words = _words(rng_key, tallies.real.shape[-1])
            inner = (jax.vmap(start, (None, 0)) if words.ndim > 2 else start)(tallies, words)
            return self._outer(inner, rng_key, tallies, model_args)

        return begin(rng_key)

    def sample(self, state: GibbsState, model_args: tuple, model_kwargs: dict[str, Any] | None) -> GibbsState:
        """Make the next draw."""
        tallies = self._tallies(model_args, model_kwargs)

        def step(_: int, inner: State) -> State:
            return jax.vmap(lambda s: sweep(s, tallies))(inner) if state.clock.ndim else sweep(inner, tallies)

        inner = jax.lax.fori_loop(0, self.sweeps, step, self._inner(state, tallies, model_args))
        return self._outer(inner, state.rng_key, tallies, model_args)

    def refresh(self, state: GibbsState, model_args: tuple, model_kwargs: dict[str, Any] | None) -> GibbsState:
        """Nothing but the density depends on the arguments between draws."""
        tallies = self._tallies(model_args, model_kwargs)
        return self._outer(self._inner(state, tallies, model_args), state.rng_key, tallies, model_args)

    def wrap_model(self, wrapper: Any) -> "PlackettLuceGibbs":
        """A copy; the model is built in."""
        return copy.copy(self)

    @staticmethod
    def _many(model_args: tuple) -> bool:
        return model_args[0].n_classes.ndim > 1

    def _tallies(self, model_args: tuple, model_kwargs: dict[str, Any] | None) -> Tallies:
        (case,) = model_args
        if not self._many(model_args):
            case = jax.tree.map(lambda a: jnp.asarray(a)[..., None], case)
        reliability = jnp.asarray((model_kwargs or {}).get("reliability", 1.0), jnp.float32)
        return tally(case, jnp.broadcast_to(reliability, case.n_classes.shape[-1:]))

    def _inner(self, state: GibbsState, tallies: Tallies, model_args: tuple) -> State:
        value = state.z["plausibility"]
        words = _words(state.rng_key, tallies.real.shape[-1])
        return State(value if self._many(model_args) else value[..., None], state.times, words, state.clock)

    def _outer(self, inner: State, rng_key: Array, tallies: Tallies, model_args: tuple) -> GibbsState:
        value = inner.plausibility
        density = jax.vmap(log_density, (0, None)) if inner.clock.ndim else log_density
        lp = density(value, tallies)
        if not self._many(model_args):
            value, lp = value[..., 0], lp[..., 0]
        return GibbsState({"plausibility": value}, lp, inner.times, rng_key, inner.clock)


def _words(rng_key: Key[Array, "*chain"] | UInt32[Array, "*chain 2"], n_cases: int) -> UInt32[Array, "*chain 2 case"]:
    """The numbers of every case, from the key of a chain."""
    if not jnp.issubdtype(rng_key.dtype, jax.dtypes.prng_key):
        rng_key = jax.random.wrap_key_data(rng_key)

    def of_chain(key: Key[Array, ""]) -> UInt32[Array, "2 case"]:
        return lane_words(jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(n_cases)))

    return jax.vmap(of_chain)(rng_key) if rng_key.ndim else of_chain(rng_key)
