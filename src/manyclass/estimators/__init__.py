"""The scikit-learn estimators: parameters, validation, fit, fitted attributes.

May import planning and all below, and no estimator is known below. Begin with svc.py.
"""
