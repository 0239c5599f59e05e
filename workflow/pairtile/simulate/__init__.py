"""Experiments with known truth, for the demonstration and the tests.

``simulate_kinetic``: expression levels as steady states of a kinetic network. ``simulate_boolean``:
time series of a Boolean network. ``simulate_modes``: pairs of genes whose samples fall into modes.
``simulate_conditions``: counts of two conditions, with modules that go with a trait or a condition.
From the command line:

    python -m pairtile.simulate --genes 200 --samples 300 --seed 1 --out FOLDER
    python -m pairtile.simulate boolean --genes 60 --steps 50 --seed 1 --out FOLDER
    python -m pairtile.simulate modes --pairs 100 --samples 200 --modes 2 --out FOLDER
    python -m pairtile.simulate conditions --genes 400 --samples 80 --out FOLDER
"""

from pairtile.simulate.boolean import BooleanSimulation, simulate_boolean, write_boolean
from pairtile.simulate.command import main
from pairtile.simulate.conditions import (
    ConditionsSimulation,
    simulate_conditions,
    write_conditions,
)
from pairtile.simulate.kinetic import Simulation, simulate_kinetic, write_simulation
from pairtile.simulate.modes import ModesSimulation, simulate_modes, write_modes

__all__ = [
    "BooleanSimulation",
    "ConditionsSimulation",
    "ModesSimulation",
    "Simulation",
    "main",
    "simulate_boolean",
    "simulate_conditions",
    "simulate_kinetic",
    "simulate_modes",
    "write_boolean",
    "write_conditions",
    "write_modes",
    "write_simulation",
]
