"""The pmf step, (Q1): for each user a convex quadratic on the simplex.

Every solver here takes the quadratics ``theta'Q theta - 2 r'theta`` of a batch of users, with the
penalty already absorbed, and improves their PMFs in place. A single Q stands for all users when
everything is observed. The duality gap of the result is its certificate: the cost is at most that
far above the least possible.
"""

from eventspace.pmf.frank_wolfe import FrankWolfe
from eventspace.pmf.pairwise import Pairwise

SOLVERS = {"pairwise": Pairwise, "frank-wolfe": FrankWolfe}

__all__ = ["SOLVERS", "FrankWolfe", "Pairwise"]
