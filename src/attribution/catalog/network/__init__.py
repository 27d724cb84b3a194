"""Rules about network adapters, cables and links, as the kernel of a node reports them."""
