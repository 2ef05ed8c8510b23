"""Dig a hole, fill it, judge the result: what measures a filler. Imports no torch by itself."""

from engine.check.bench import BenchReport, run_bench
from engine.check.dataset import Problem, read_problems
from engine.check.report import table

__all__ = ["BenchReport", "Problem", "read_problems", "run_bench", "table"]
