"""Stochastic training beside scikit-learn's: seconds to an accuracy, of an epoch, memory."""
