"""Gibbs sampling: PMFs, indicators and noise drawn in turn from their conditional laws.

The law is Gaussian: an observed p_ui is theta_u . psi_i with noise of precision tau_u. The bits of
psi_i have log-odds, theta_u a Dirichlet law with a centre and a concentration, which are learnt
along (see ``priors``). At the end users weigh the events of all chains (see ``joint``).
"""
