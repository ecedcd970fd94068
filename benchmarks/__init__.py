"""How fast and how large: every measurement next to a plain implementation in the same run.

``python -m benchmarks`` prints one table of ratios; ``--quick`` a smaller one in about two minutes. Seconds belong to
the machine and its load, ratios less so: compare them, and only within one run. Each part runs in a process of its own,
so that peak memory is its own; compilation is timed separately.

* ``accuracy``: how exact the probability of tied blocks is, by size;
* ``plackett-luce``: the probability of tied blocks and its gradient by size, against enumerating all their orders, and
  against that of the two methods, recursion and quadrature, which is not chosen; NUTS and Gibbs over a whole data set;
  NUTS against NumPyro's under ``vmap`` on cases of one shape; time per case, for 100 to 100,000 cases;
* ``metrics``: evaluating classifiers, against an array of draws × cases × classes; and all metrics of labels, against
  top-1 accuracy alone and a loop of scikit-learn over draws and replicates;
* ``discrepancy``: the discrepancy ratio of a million labels with its bootstrap, against a loop over pairs in
  every replicate;
* ``agreement``: distances, KS and sigma of all pairs of boxes and of categories, against loops over pairs;
* ``main_job`` (``python -m benchmarks.main_job``, half an hour and more): commands and functions from annotations to
  report, cold and warm, beside the commit ``24dfe9e`` in an environment of its own, and beside NumPyro, ArviZ and nltk;
* ``scale``: time per thousand cases and peak memory, for ten thousand to a million cases.
"""
