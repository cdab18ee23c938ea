"""Expressions as SymPy knows them, and as text: conversion, names and formulas, bounded simplification."""
