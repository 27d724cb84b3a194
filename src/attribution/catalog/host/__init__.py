"""Rules about the operating system and hardware of a node, from its kernel log and its BMC."""
