"""How fast and how large: every measurement beside a plain implementation that runs in the same minutes.

``python -m benchmarks`` prints one table of ratios; ``--quick`` a smaller one in about two minutes. Seconds belong to
the machine and its load, ratios less so: compare them, and only within one run. Each part has a process of its own, so
that peak memory is its own; compilation is timed apart.

* ``accuracy``: how exact the probability of tied blocks is, by size;
* ``primitive``: the probability of tied blocks and its gradient, against enumerating all their orders, and against that
  of the two methods, recursion and quadrature, which is not chosen at a size;
* ``sampling``: NUTS over a whole data set, and against NumPyro's NUTS under ``vmap`` on cases of one shape;
* ``metrics``: evaluating classifiers, against an array of draws × cases × classes;
* ``discrepancy``: the discrepancy ratio of a million labels with its bootstrap, against pairs in a loop, anew in
  every replicate.
* ``agreement``: distances, KS and sigma of all pairs of boxes and of categories, against loops over pairs.
"""
