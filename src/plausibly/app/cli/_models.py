"""``plausibly models``: aggregation models, compared, checked, under other priors, and of one's own."""

from plausibly.app.cli._app import example


@example(
    """
    plausibly models compare annotations.json --model plackett-luce@1,3,10 --model prirn
    plausibly models check results/posterior-prirn-30.nc
    plausibly models priors annotations.json --model plackett-luce@3
    plausibly models new prirn mine.py
    """
)
def models() -> None:
    """Compare and check aggregation models, try other priors, and start a model of your own."""
