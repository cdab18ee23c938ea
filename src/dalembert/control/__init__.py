"""Control: state feedback, optimal regulators, and laws for nonlinear machines; each fits ``da.simulate``."""

__all__: list[str] = []
