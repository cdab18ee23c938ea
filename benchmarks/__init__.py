"""How long `dalembert` needs for a given accuracy, next to Exudyn, Pinocchio and MuJoCo.

    python -m benchmarks                     every group; prints a table, writes bench-results.json
    python -m benchmarks --only four-bar     one group; its rows replace those of the same name in the file

Reading the table
-----------------
One row is one question, for instance ``four-bar/1e-3``: the CPU seconds of the crank-rocker's first 10 s
with the crank pin never further than 1e-3 m from the exact motion (samples every 0.1 s, `reference.py`). Everybody
chooses the step or tolerance that is fastest for him among those that meet the error. ``ratio`` is our figure divided
by the best peer's, both of the same run on the same machine: below 1 we are faster; ``goal`` is what it should not
exceed. ``-`` in a peer's column means that it gave no figure; the line below the table says why.

Groups
------
four-bar   seconds to an error of 1e-3 m and 1e-6 m, no engine settings given: at most 0.1 and 0.03 of the best peer.
           ``first call`` is everything from `da.equations` on, once, in a process that has imported all it needs: at
           most 0.35 s.
chain      a planar chain of 10, 100 and 1000 hinged rods, Runge-Kutta 4, in microseconds per body and step: the cost
           must grow linearly, and is at most 0.45, 0.3 and 0.1 of the best peer's. The first call has 4000 steps, so
           that its machine code pays. Pinocchio and MuJoCo use joint coordinates, Exudyn an implicit step.
frame      a building of 101 160 coordinates: from the description to its first 20 modes, beside SciPy's eigensolver
           alone on the same matrices: as it comes, with the elimination order chosen by hand ("tuned"), and after an
           assembly by scikit-fem. The goal is 1.5 times the eigensolver alone.
solid      a cube of linear hexahedra with 50 700 coordinates, reduced to 10 points and 20 modes (Craig-Bampton); the
           note gives the memory of the process, goal 4096 MB.

identify   a three-storey frame (1 input, 3 outputs) and a chain of 20 masses (4 inputs, 10 outputs), white forces, 5 %
           noise, 10 000 to 1 000 000 samples: time, memory above the data and error of the damping ratios of our
           subspace methods, with and without refinement, beside pyOMA2, nfoursid, SIPPY, python-control (Markov
           parameters and ERA) and SLICOT (`ctrlsys`), each with 45 s. The goal of time is 1, or 30 ms; ``bound`` is the
           error of refined models over 20 records (frame: 100) of 100 000 samples against the least that any method can
           have, goal 1.05, and ``coverage off 95 %`` how far the share of their 95 % intervals that hold the truth is
           from that, at most 2 %. ``oversampled`` is a structure of four modes below 16 Hz in 70 000 samples at 400 Hz:
           our automatic identification as a whole beside one order at 150 block rows.

filters    extended and sigma-point Kalman filters of a chain of Duffing oscillators with 6, 10 and 20 states, in
           microseconds per sample over 100 000 of them, beside filterpy, pykalman, Stone Soup (2000 samples) and
           dynamax (after its compilation): not slower than the fastest, at most half of dynamax's time, and at
           least 20 (extended) or 50 times (sigma points) as fast as filterpy. The note says how far the estimates
           are apart.

observer   an extended Kalman filter of a four-bar machine at 1 kHz, CPU seconds for 10 s beside these 10 s: the goal
           is 1/180. The note adds the errors of the field's four-bar benchmark (wrong gravity and start).

riccati    continuous algebraic Riccati equations of 10 to 400 states, with gain, poles and residual, beside SciPy and
           SLICOT (`ctrlsys`); the note gives everybody's residual by the same formula (goal 1e-10) and our share of
           SciPy's time (goal 1/3 at 400 states).

sweep      the Monte Carlo study on two processes beside one, elapsed seconds: at least 1.8 times as fast.

first      equations, first run with the default samples, first inverse dynamics of that run, making a filter and its
           first run over 21 samples, of a Stewart platform, in CPU seconds: at most 2 each.

engine     interpreter and native code by operation, the cost of a call over its work (goal 0.1 µs), and the first call
           of a kernel beside the interpreter alone (goal 1.1 times); `EngineCosts` has its numbers from here.
flexible   machines of flexible bodies with the same modes as Exudyn's reduced-order body in a floating frame, the same
           implicit method and step: an elastic slider-crank (planar and spatial; Exudyn has a spatial body only), a
           blade that spins up, a chain of 20 bodies of 10 modes, in microseconds per step: at most 0.05, 0.3, 0.3 and
           0.1 of its time. The middle of a beam must agree to 1e-4 of its deflection. Then, beside the time allowed:
           30 s of the spin-up of a beam with 5 modes to 1e-4 m; closed loops of 5, 10 and 20 bodies until their first
           step, and with native code; how far their time per step is from a line; equations of a body of 50 full modes.

flexible-arm  an arm of two bending links (three modes each, 400 g, geared motors) under sampled joint PID for 2 s, the
           tip within 1e-5 m of each engine's own converged run, in CPU seconds beside Exudyn with the same modes: at
           most 0.05 of its time. Without weight both motions must agree to 1e-5 m; with weight Exudyn's body turns as
           if it were not bent. Then an implicit step in joint coordinates beside one in absolute coordinates (goal 1),
           and for arms of 2 to 4 links operations of M and bias beside those of written-out equations, with the CPU
           time from the description to their native code, at most 3 s.

symbolic   equations of a planar pendulum of 2 to 10 links, a spatial chain of 3 to 8 and the benchmark bicycle, given
           as bodies and frames, beside SymPy's KanesMethod and LagrangesMethod with their own CSE and lambdify: from
           the description to M and f as numbers, at most 1/20 (spatial n = 5, planar n = 10) and 1/50 (spatial n = 7)
           of the faster one; given as a Lagrangian of SymPy, with its conversion, 1/10; one evaluation 1/20; LaTeX to
           read not slower than SymPy's derivation alone. The note gives the memory of each process, ``error`` the
           difference of the numbers. SymPy keeps results, so the first derivation of a process counts, and the fastest
           of three processes.

trees      chains of 7, 20 and 50 hinges (axes z, y, x in turn, 0.3 m, 1 kg each) and a humanoid of 32 joints with a
           free base: mass matrix, inverse and forward dynamics and the derivatives of both, microseconds of a call from
           Python, beside Pinocchio, MuJoCo and Drake. ``ratio`` is our share of Pinocchio's time: at most 0.4 for the
           first three, 0.5, 0.7 and 2 for derivatives of inverse, 0.5, 1 and 3 for those of forward dynamics at the
           three sizes. We call what ``da.tree.kernel`` hands out, with a million calls announced; ``build s`` is the
           CPU time from the equations to its native code (at most 3 s each, equations of 50 joints at most 2 s),
           ``error`` the largest difference of all engines' results. Drake's derivatives are by automatic
           differentiation, MuJoCo has none. Then forward dynamics of 10 000 states in one call on one core, per state
           at most a tenth of a step of MuJoCo's rollout, where two threads gain at least 0.9 of two processes' gain;
           and an arm of 7 hinges with viscous joints from rest in a spatial pose, 10 s to 1e-6 rad: at most a fifth of
           the time of Pinocchio's articulated bodies with Runge-Kutta 4 in Python. (Without damping the arm is chaotic:
           nobody has six digits after 10 s.)

robust     H-infinity synthesis of chains of 20 and 40 states beside python-control (SLICOT; goal 1/4 of its time) and
           dkpy (matrix inequalities; 1/20), output feedback by matrix inequalities, D-K iteration of a distillation
           column (0.3 of dkpy's time at no larger μ) and upper bounds of μ on 60 frequencies (1/20). Every controller
           is judged by its loop; ``error`` is the gain, or μ, that it has.

flexible-observer
           an extended Kalman filter of a manipulator with bending links in 13 coordinates, microseconds per sample over
           300 of them, beside the same model in NumPy under filterpy with central differences: at least 20 times as
           fast with a Jacobian frozen over the step; the exact one stands beside it. Then a longer record beside real
           time (goal 1), and the rankings of the interior modes of 8000 coordinates, all methods together, beside all
           interior modes by SciPy (goal 1/5).

How it is measured
------------------
Ours and every peer run in a process of their own with one thread, 8 GB of address space and 120 s. Figures are CPU
time, best of five; a run longer than 4 s is repeated less often (``repeats`` in the file). Our figure is the whole
public call `da.simulate(...)`, record included; what happens once, building and the first call with its machine code,
is in ``build_s`` and ``first_call_s`` (elapsed seconds). No C compiler is on our path. Pinocchio is stepped by a Python
loop as its users do; Exudyn runs as ``EXUDYN_MODULE=fast``. The peers' interpreter is the one that runs this, or that
named by ``DALEMBERT_BENCH_PYTHON``.

The file is a list of ``{"name", "unit", "ours", "peers": {name: number or null}, "ratio", "goal", ...}``; ``details``
holds method, setting, error, repeats and status ("ok", "time limit", "memory limit", "missing", "failed", ...)
behind every figure.
"""
