"""Chains of what cases share, kept in the Zarr folder of a posterior as soon as each is finished.

Sites are arrays (draw, …, chain) of the group ``chains``, a chunk per chain, beside the checksum of every chain that is
finished. Reading the whole makes variables of the posterior of them.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from plausibly.fingerprint import data_digest
from plausibly.posterior._store_reading import CHAINS, SITES

_FINISHED = "checksum"  # by chain, 0 of one that is not finished


def keep_chain(
    root: Any, number: int, chain: Mapping[str, np.ndarray], n_chains: int, dims: Mapping[str, tuple[str, ...]]
) -> None:
    """Write a chain; arguments as of :meth:`plausibly.posterior.Store.keep_chain`."""
    from zarr.codecs import BloscCodec, Crc32cCodec

    how: dict[str, Any] = {"compressors": (BloscCodec(cname="zstd", clevel=1, shuffle="shuffle"), Crc32cCodec())}
    if CHAINS not in root or _FINISHED not in root[CHAINS]:
        group = root.require_group(CHAINS)
        group.attrs[SITES] = list(dims)
        for name, values in chain.items():
            group.create_array(
                name,
                shape=(*values.shape, n_chains),
                chunks=(*values.shape, 1),
                dtype=values.dtype,
                dimension_names=["draw", *dims.get(name, ()), "chain"],
                overwrite=True,
                **how,
            )
        # Last: without it, nothing here counts.
        group.create_array(_FINISHED, shape=(n_chains,), dtype="uint64", dimension_names=["chain"], overwrite=True)
    group = root[CHAINS]
    for name, values in chain.items():
        group[name][..., number] = values
    group[_FINISHED][number] = _checksum(chain)


def kept_chains(root: Any) -> dict[int, dict[str, np.ndarray]]:
    """Read the chains that are finished and undamaged, by number."""
    if CHAINS not in root or _FINISHED not in root[CHAINS]:
        return {}
    group, found = root[CHAINS], {}
    names = set(group.array_keys()) - {_FINISHED}
    for number in np.flatnonzero(group[_FINISHED][:]).tolist():
        chain = {name: group[name][..., number] for name in names}
        if _checksum(chain) == int(group[_FINISHED][number]):
            found[number] = chain
    return found


def _checksum(chain: Mapping[str, np.ndarray]) -> int:
    return int(data_digest({name: chain[name] for name in sorted(chain)})[:15], 16) + 1
