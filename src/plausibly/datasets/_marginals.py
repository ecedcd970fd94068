"""The marginals of the simulated differential diagnoses, modelled on a real set."""

import numpy as np

# Relative frequencies, rounded, among the 1,947 cases (9,602 annotations, 13,998 blocks) of the dermatology set of
# Stutz, Cemgil, Roy et al. (2025), published with the repository google-deepmind/uncertain_ground_truth (CC BY 4.0).
ANNOTATORS_PER_CASE = np.array([0.013, 0.068, 0.184, 0.223, 0.148, 0.192, 0.050, 0.044, 0.035, 0.043])  # 1 to 10
BLOCKS_PER_ANNOTATION = np.array([0.610, 0.322, 0.067, 0.001])  # 1 to 4
BLOCK_SIZES = np.array([0.8890, 0.0985, 0.0111, 0.0012, 0.0001, 0.0001])  # 1 to 6

# What the set's cases look like as a whole. Not drawn from: the three constants below were chosen to meet these.
MEAN_DISTINCT_CLASSES = 3.96
MEAN_TOP_BLOCK_OVERLAP = 0.54  # share of a case's pairs of annotators whose first blocks have a class in common

# The popularity of the k-th most popular class is proportional to (k + TAIL_OFFSET * n_classes) ** -TAIL_EXPONENT.
# At 419 classes the ten most popular ones are then 35 % of all that is named (34 % in the real set), the hundred
# most popular ones 92 % (95 %).
TAIL_EXPONENT = 3.0
TAIL_OFFSET = 0.1
# A case's plausibilities are a Dirichlet process over the classes, of this concentration, ...
CONCENTRATION = 0.7
# ... and a share that every class receives by its popularity: what annotators name when they have no idea.
COMMON_SHARE = 0.09


def popularities(n_classes: int) -> np.ndarray:
    """Long-tailed class frequencies that sum to one, the most popular class first."""
    frequencies = (np.arange(n_classes) + TAIL_OFFSET * n_classes) ** -TAIL_EXPONENT
    return frequencies / frequencies.sum()
