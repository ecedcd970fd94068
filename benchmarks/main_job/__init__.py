"""The main job, from command to report, beside the version that it started from.

``python -m benchmarks.main_job`` installs two versions of the package, the commit ``24dfe9e`` and the working tree,
each into an environment of its own, and runs the same jobs in both of them in turn: old, new, old, new. Every job runs
cold, with an empty folder of caches, and then warm, in a new process with the caches that the first one left. What is
compared with a library (NumPyro, ArviZ, nltk, an import) runs in the environment of the working tree.

* ``_jobs``: what is measured, and against what;
* ``_work``: the script that runs in an environment and does one piece of it;
* ``_environments``: how the two environments are made, or reused with ``--baseline-env`` and ``--working-env``;
* ``_measure``: wall clock, processor time and peak memory of a process;
* ``_agreement``: whether both versions found the same, within Monte Carlo error; if not, the run fails;
* ``_table``: the ratios, with their spread over the repetitions.

Seconds belong to the machine and its load. Ratios of one run do less so, since both versions take turns.
"""
