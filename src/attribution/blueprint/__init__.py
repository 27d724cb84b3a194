"""The Attribution Blueprint: finds workloads, collects their evidence, asks the Service, writes the answer."""
