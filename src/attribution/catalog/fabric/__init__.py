"""Rules about NVSwitches, the Fabric Manager and IMEX."""
