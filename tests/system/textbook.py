#!/usr/bin/env python3
"""Prints a model in which nothing costs anything but a message (us), each of its bytes and each byte that is combined (ns), as in the
formulas of textbooks.

usage: textbook.py TRANSPORT DISTANCE[,DISTANCE] PORT US_PER_MESSAGE NS_PER_BYTE NS_PER_COMBINED_BYTE"""
import json
import sys

transport, distances, port, *costs = sys.argv[1:]
message, byte, combined = map(float, costs)
path = {"path": "bcopy", "least_bytes": 0, "movement": "push", "latency_us": message, "send_overhead_us": 0, "receive_overhead_us": 0,
        "send_ns_per_byte": [], "receive_ns_per_byte": [], "sharing": 0, "combines_apart": False, "wire_ns_per_byte": byte, "gap_us": 0,
        "window_bytes": 0}
links = [{"transport": transport, "distance": distance, "port": port, "paths": [path]} for distance in distances.split(",")]
model = {"host": "nowhere", "processor": "none", "made": "never", "cores": 4096, "caches": 1, "cache_cores": 4096, "start_us": 0,
         "core_switch_us": 0, "copy_overhead_us": 0, "copy_ns_per_byte": [], "bus_ns_per_byte": [],
         "combine": [{"datatype": "float", "op": "sum", "ns_per_byte": [[1, combined]]}], "links": links, "residuals": []}
print(json.dumps({"schema": 1, "version": "0.1.0", "model": model}))
