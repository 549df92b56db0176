"""The page of a report: elements that escape what they hold, figures, sections.

Begin with document.py.
"""
