"""What people hold: estimators in the manner of scikit-learn."""
