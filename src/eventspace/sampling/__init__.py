"""Gibbs sampling: indicators, noise and PMFs drawn in turn from their conditional laws.

The law is Gaussian: an observed p_ui is theta_u . psi_i with noise of precision tau_u. The bits of
psi_i have log-odds, theta_u a Dirichlet law with a centre and a concentration, tau_u a Gamma law:
these are the ``priors``, which are learnt along.

- ``sampler`` runs several chains side by side, each a ``chain`` from its own descent;
- ``draw_indicators``, ``draw_pmfs``: the kernels of a sweep, made of ``draw_variates``;
- ``joint_law``: at the end users weigh the events of several chains together;
- ``kept_samples``: what a posterior keeps of the chains; ``diagnostics``: whether they agree;
- ``updating``: users and items whose ratings change later, in each existing draw.
"""
