"""Where the two half-steps run. An engine has two verbs: update_indicators and update_pmfs."""
