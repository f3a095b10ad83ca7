"""Gibbs sampling: PMFs, indicators and noise drawn in turn from their conditional laws.

The law is Gaussian: an observed p_ui is theta_u . psi_i with noise of precision tau_u. The bits of
psi_i have log-odds, theta_u a centre and a precision, which are learnt along (see ``priors``).
"""
