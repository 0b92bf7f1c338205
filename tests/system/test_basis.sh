#!/usr/bin/env bash
# tier: check; load: cpu2
# The basis of algorithms (tests/basis.def) over shm and tcp, with each value of each option and every element checked: matrix.py says
# what meets what. TEST_CATALOGUE=all: the whole catalogue.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
rows=$(for collective in $(basis_collectives); do echo "$collective $(basis "$collective")"; done)
CCTEST=$CCTEST "$repository/tests/system/matrix.py" basis "$scratch" "$rows" shm tcp
