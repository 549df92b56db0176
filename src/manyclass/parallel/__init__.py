"""Communicators, collective error handling, exchange of arrays, schedules of class blocks.

May import utils. Begin with communicator.py.
"""
