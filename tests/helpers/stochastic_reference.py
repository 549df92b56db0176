"""Stochastic steps in NumPy, after the formulas of Chen et al. 2011: dense, slow, independent."""

import numpy as np
import scipy.special

from tests.helpers.dense_data import rows_with_bias


def gradient(
    loss,
    W,
    X,
    y,
    v,
    offsets=0.0,
):
    """sum_i v_i dl_i, shape (d + 1, k), by equations 15 to 17."""
    rows = np.arange(len(y))
    s = X @ W + offsets
    if loss == "log_loss":
        share = scipy.special.softmax(s, axis=1)
        share[rows, y] -= 1
        return X.T @ (v[:, None] * share)
    own = s[rows, y].copy()
    s[rows, y] = -np.inf
    best = s.argmax(axis=1)
    wrong = 1 + s[rows, best] > own if loss == "hinge" else s[rows, best] >= own
    signs = np.zeros_like(s)
    signs[rows, best] = 1
    signs[rows, y] = -1
    return X.T @ (v[:, None] * signs * wrong[:, None])


def train(
    data,
    order,
    loss,
    alpha,
    batch_size,
    offsets=0.0,
):
    """T_t and W_t after every step, from W = 0, rows in this order."""
    X, y, v = rows_with_bias(data), data.labels, data.weights
    W, seen, path = np.zeros((X.shape[1], data.n_classes)), 0.0, []
    for begin in range(0, len(order), batch_size):
        i = order[begin : begin + batch_size]
        weight = v[i].sum()
        G = gradient(loss, W, X[i], y[i], v[i], offsets)
        W = seen / (seen + weight) * W - G / (alpha * (seen + weight))
        seen += weight
        path.append((seen, W))
    return path


def average(path, kind):
    """Return the last W, or the mean that ``kind`` asks for."""
    later = [(seen, W) for seen, W in path if kind is True or seen > kind]
    if kind is False or not later:
        return path[-1][1]
    weights = np.array([seen**2 if kind is True else 1 for seen, _ in later])
    return np.tensordot(weights / weights.sum(), np.array([W for _, W in later]), axes=1)
