"""Expressions without their cut-offs in some symbols: min(x, c) and max(x, c) become x where only x depends on them."""

from __future__ import annotations

import casadi as ca


def remove_cut_offs(expression: ca.SX, symbols: ca.SX) -> ca.SX:
    """The expression as it is where the symbols are inside their limits."""
    others = ca.vertcat(*[one for one in ca.symvar(expression) if not ca.depends_on(symbols, one)])
    f = ca.Function("limited", [symbols, others], [expression])
    inputs, result = (symbols, others), ca.SX(expression)
    work: dict[int, ca.SX] = {}
    depending: dict[int, bool] = {}
    for k in range(f.n_instructions()):
        op, i, o = f.instruction_id(k), f.instruction_input(k), f.instruction_output(k)
        if op == ca.OP_OUTPUT:
            result.nz[o[1]] = work[i[0]]
            continue
        if op == ca.OP_INPUT:
            value, depends = inputs[i[0]].nz[i[1]], i[0] == 0
        elif op == ca.OP_CONST:
            value, depends = ca.SX(f.instruction_constant(k)), False
        elif len(i) == 1:
            value, depends = ca.SX.unary(op, work[i[0]]), depending[i[0]]
        elif op in (ca.OP_FMIN, ca.OP_FMAX) and depending[i[0]] != depending[i[1]]:
            value, depends = work[i[0] if depending[i[0]] else i[1]], True
        else:
            value, depends = ca.SX.binary(op, work[i[0]], work[i[1]]), depending[i[0]] or depending[i[1]]
        work[o[0]], depending[o[0]] = value, depends
    return result
