"""Importing this loads numba's compiler; numba itself does at the first call of a function."""

import numba

numba.njit(lambda: 0)()
