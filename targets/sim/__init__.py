"""A cluster of leasekv nodes in virtual time: no process, no socket, no clock of the host's."""
