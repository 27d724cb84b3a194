"""Services outside the cluster as programs report them: hubs, trackers, names, proxies, licences."""
