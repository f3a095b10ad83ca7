"""What sets of events mean: inclusion, order, algebra, explanations, labels."""
