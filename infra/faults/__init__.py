"""Faults made on purpose in the real server and the emulator, to see whether `animegan diagnose` names them."""
