"""A rank that loops, and needs no other."""
import os
import time

rank = int(os.environ["RANK"])


def loop():
    step = 0
    while True:
        step += 1
        time.sleep(0.01)


loop()
